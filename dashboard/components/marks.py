"""The smallest parts: swatches, names from outside, terms with their meaning, state strips, coverage, icons."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from dash import html
from dash.development.base_component import Component

from analytics.queries.strips import StripPart
from analytics.wording import GLOSSARY, UNKNOWN, format_duration, format_iso, format_ratio, format_time, label
from dashboard.components.attributes import attributes

Child = Component | str | None
LOW_COVERAGE: Final = 0.8
"""Below this a figure is marked as partly measured (definitions, section 3)."""


def icon(name: str) -> html.Span:
    """Returns a decorative icon: a mask in the text's colour, from assets/icons.css."""
    return html.Span(className=f"icon icon-{name}", **attributes(aria_hidden="true"))


def name(text: str | None, why: str = "not known", *, wide: bool = False) -> Component:
    """Returns a name from outside, isolated so that no direction mark, newline or length of it disturbs the page."""
    if not text:
        return unknown(why)
    return html.Bdi(text, className="name name-wide" if wide else "name", title=text)


def unknown(why: str) -> html.Span:
    """Returns the dash for an unknown value, with the reason on hover and for screen readers."""
    return html.Span(UNKNOWN, className="unknown", title=why, **attributes(aria_label=f"unknown: {why}"))


def value(text: str, why: str = "not measured") -> Child:
    """Returns a formatted value, or the dash with its reason."""
    return unknown(why) if text == UNKNOWN else text


def swatch(state: str) -> html.Span:
    """Returns the small square of a state; the word always stands beside it."""
    return html.Span(className=f"swatch state-{state}", **attributes(aria_hidden="true"))


def state_label(state: str, text: str | None = None) -> html.Span:
    """Returns swatch and name of a state."""
    return html.Span([swatch(state), text or term(label(state))], className="state-label")


def term(word: str, shown: str | None = None) -> Component:
    """Returns a word of the glossary, its meaning on hover and focus."""
    meaning = GLOSSARY.get(word)
    if meaning is None:
        return html.Span(shown or word)
    return html.Span(
        shown or word,
        className="term",
        tabIndex=0,
        **attributes(data_tip=meaning, aria_label=f"{shown or word}: {meaning}"),
    )


def moment(value_ms: int | None, zone: str, why: str = "not known") -> Component:
    """Returns a time in the site's zone, UTC on hover."""
    if value_ms is None:
        return unknown(why)
    iso = format_iso(value_ms) or ""
    return html.Time(format_time(value_ms, zone), dateTime=iso, title=f"{iso} (UTC)", className="nowrap")


def strip(parts: Sequence[StripPart], *, neutral: bool = False) -> html.Div:
    """Returns what a run's GPUs did over its life as one thin bar, with the same said in words.

    Width is time, height the share of the GPUs: areas are shares of GPU-time.
    """
    total = sum(part.ms for part in parts)
    return html.Div(
        [
            html.Div(
                [html.I(className=f"state-{state}", style={"flexGrow": ms}) for state, ms in part.mix.items()],
                style={"flexGrow": part.ms},
            )
            for part in parts
        ],
        className="strip strip-neutral" if neutral else "strip",
        role="img",
        title=strip_words(parts, total),
        **attributes(aria_label=strip_words(parts, total)),
    )


def strip_words(parts: Sequence[StripPart], total: int) -> str:
    """Returns ``active 82 %, idle, empty 18 % of 3 h 40 min``: shares of GPU-time, the largest first."""
    if not total:
        return "no time recorded"
    sums: dict[str, int] = {}
    for part in parts:
        for state, ms in part.mix.items():
            sums[state] = sums.get(state, 0) + ms
    shares = sorted(sums.items(), key=lambda item: -item[1])
    said = ", ".join(f"{label(state)} {format_ratio(ms / total)}" for state, ms in shares)
    return f"{said} of {format_duration(total)}"


def coverage_badge(coverage: float | None) -> Child:
    """Returns the badge of a figure that was measured only in part; nothing where coverage is good."""
    if coverage is None or coverage >= LOW_COVERAGE:
        return None
    return html.Span(
        [icon("partial"), f"{format_ratio(coverage)} measured"],
        className="badge badge-amber",
        title=f"Only {format_ratio(coverage)} of the held hours have a usable reading; the rest is not called idle.",
    )


def short_model(model: str | None) -> str:
    """Returns a GPU model without its maker, which is the same for all of them."""
    return (model or "GPU").removeprefix("NVIDIA ")


def coded(text: str) -> html.Span:
    """Returns a sentence in which what stands between backticks is code."""
    parts = text.split("`")
    return html.Span([html.Code(part) if index % 2 else part for index, part in enumerate(parts)])


def badge(text: str, kind: str = "plain", title: str | None = None) -> html.Span:
    """Returns a small label; ``kind`` is plain, accent or amber."""
    return html.Span(text, className=f"badge badge-{kind}", title=title or text)


def sparkline(values: Sequence[float], what: str, highest: float, breaks: Collection[int] = ()) -> html.Div:
    """Returns small columns in order of time, with the range in words; ``highest`` is the top of their scale.

    ``breaks`` are the places of the values in which the thresholds changed: the row of columns is broken before them.
    One element cut to shape, since a table of them as single columns is thousands of elements.
    """
    highest = highest or 1.0
    said = f"{what}: from {min(values, default=0.0):,.0f} to {max(values, default=0.0):,.0f}"
    if breaks:
        said += "; broken where the thresholds changed"
    return html.Div(
        className="sparkline",
        style={"clipPath": f"polygon({', '.join(_columns(values, highest, breaks))})"},
        role="img",
        title=said,
        **attributes(aria_label=said),
    )


def _columns(values: Sequence[float], highest: float, breaks: Collection[int]) -> Iterator[str]:
    """The corners of all columns in one line along the bottom, in percent; a hairline between two of them."""
    yield "0% 100%"
    wide = 100 / max(1, len(values))
    for place, value in enumerate(values):
        # A day without anything is a hairline too, so that the row is seen to go on.
        top = f"{100 - max(4.0, 100 * value / highest):.0f}%"
        start = place * wide + (wide / 2 if place in breaks else 0)
        left, right = f"{start:.1f}%", f"{(place + 0.85) * wide:.1f}%"
        yield f"{left} 100%, {left} {top}, {right} {top}, {right} 100%"
