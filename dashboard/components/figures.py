"""Figure tiles: one number, what it means, how it changed, where its rows are, and how it was computed."""

import dataclasses

from dash import html
from dash.development.base_component import Component

from analytics.model import Provenance
from analytics.wording import GLOSSARY, UNKNOWN
from dashboard.components.attributes import attributes
from dashboard.components.computed import how_computed
from dashboard.components.marks import Child, term


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure:
    """``id`` and ``value`` (unrounded) let a test compare the page with the API; ``text`` is the value as shown.

    ``share_pct`` draws a thin bar below; ``href`` is the list whose total row shows the same number.
    """

    id: str
    label: str
    value: float | None
    text: str
    href: str | None = None
    note: Child = None
    meaning: str | None = None
    share_pct: float | None = None
    state: str | None = None
    why_unknown: str = "not measured"
    provenance: Provenance | None = None


def figure(figure: Figure) -> html.Div:
    """Returns one tile."""
    return html.Div(
        [
            html.Div(
                [
                    term(figure.meaning, figure.label) if figure.meaning else html.Span(figure.label),
                    how_computed(figure.label, figure.provenance, GLOSSARY.get(figure.meaning or ""))
                    if figure.provenance
                    else None,
                ],
                className="figure-label",
            ),
            _value(figure),
            html.Div(figure.note, className="figure-note"),
            _share(figure),
        ],
        className="figure",
        **attributes(data_figure=figure.id, data_value="" if figure.value is None else repr(float(figure.value))),
    )


def _value(figure: Figure) -> Component:
    number, _, unit = figure.text.rpartition(" ")
    if unit[:1].isdigit():
        number = ""
    shown = [number, html.Span(f" {unit}", className="figure-unit")] if number else [figure.text]
    if figure.text == UNKNOWN:
        return html.Div(
            UNKNOWN,
            className="figure-value unknown",
            title=figure.why_unknown,
            **attributes(aria_label=f"{figure.label}: unknown, {figure.why_unknown}"),
        )
    if figure.href is None:
        return html.Div(shown, className="figure-value")
    return html.A(
        shown,
        href=figure.href,
        className="figure-value figure-link",
        title="Show the rows behind this number",
        **attributes(aria_label=f"{figure.label}: {figure.text}. Show the rows behind this number"),
    )


def _share(figure: Figure) -> Component | None:
    if figure.share_pct is None:
        return None
    width = f"{min(100.0, max(0.0, figure.share_pct)):.2f}%"
    mark = f"state-{figure.state}" if figure.state else "fill-accent"
    return html.Div(html.I(className=mark, style={"width": width}), className="share", **attributes(aria_hidden="true"))


def figure_row(figures: list[Figure], kind: str = "") -> html.Div:
    """Returns tiles in a row that wraps; ``kind`` funnel joins them with arrows."""
    return html.Div([figure(one) for one in figures], className=f"figures {kind}".strip())
