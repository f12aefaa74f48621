"""Plotly figures as plain dictionaries: nothing validates them on every request, the tests do it once.

No WebGL traces, at most 1,000 points a trace, and no text from outside goes into Plotly without :func:`plain`, because
Plotly reads a small HTML in every label.
"""

from collections.abc import Sequence
from typing import Any, Final

from analytics.model import State
from analytics.queries.job import EventRow
from analytics.queries.lanes import Lane
from analytics.queries.timeline import FIELDS, Timeline, TimelineRow
from analytics.wording import (
    DAY_MS,
    NEUTRAL_EMPTY,
    NEUTRAL_IDLE,
    PATTERN_INK,
    STATES,
    format_duration,
    format_iso,
    label,
    local,
    number_gpu_h,
)
from dashboard.theme import FAINT, SCHEMES, Scheme, plotly_template

BAR_FILL: Final = 0.9
LANE_HEIGHT_PX: Final = 24
MAX_LANES: Final = 16


def plain(text: str, longest: int = 32) -> str:
    """Returns a name from outside as Plotly may show it: no markup, no line ends, not too long."""
    flat = "".join(character if character.isprintable() else " " for character in text)
    short = flat if len(flat) <= longest else flat[: longest - 1] + "…"
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def short(gpu: str, longest: int) -> str:
    """Returns ``node:index`` to fit beside a lane: the index and the end of the node's name tell GPUs apart."""
    if len(gpu) > longest:
        gpu = f"{gpu[: longest - 7]}…{gpu[-6:]}"
    return plain(gpu)


def wall(value_ms: int, zone: str) -> str:
    """Returns a moment as the site's wall-clock time; Plotly draws it as it stands."""
    return local(value_ms, zone).strftime("%Y-%m-%d %H:%M:%S")


def fill(state: str, scheme: Scheme, *, neutral: bool = False) -> dict[str, Any]:
    """Returns the marker of a state: its colour and, where the colour is not enough, its pattern.

    ``neutral`` draws idle as a grey pattern, so that a person's own page does not look like an alarm.
    """
    neutrals = {State.IDLE: NEUTRAL_EMPTY, State.IDLE_HELD: NEUTRAL_IDLE} if neutral else {}
    look = neutrals.get(State(state), STATES[state])
    tokens = SCHEMES[scheme]
    colour = look.light if scheme == "light" else look.dark
    ink = PATTERN_INK[0 if scheme == "light" else 1]
    marker: dict[str, Any] = {"color": colour, "line": {"width": 0}}
    if state in (State.UNALLOCATED, State.FREE):
        marker["opacity"] = FAINT
    if look.pattern:
        over = look is STATES[State.IDLE_HELD]
        marker["pattern"] = {
            "shape": look.pattern,
            "bgcolor": colour if over else tokens.surface,
            "fgcolor": tokens.surface if over else ink,
            "fgopacity": 0.55 if over else 1,
            "size": 7,
            "solidity": 0.2,
        }
    return marker


def layout(scheme: Scheme, revision: str, *, height: int, coarse: bool = False, **more: Any) -> dict[str, Any]:
    """Returns the layout that all figures share. Zoom survives a refresh while ``revision`` stays the same.

    On a touch screen (``coarse``) a finger scrolls the page instead of zooming the chart.
    """
    return {
        "template": plotly_template(scheme),
        "height": height,
        "uirevision": revision,
        "dragmode": False if coarse else "zoom",
        "transition": {"duration": 0},
        **({"meta": {"range": range_}} if (range_ := more.get("xaxis", {}).get("range")) else {}),
        **more,
    }


def left_margin(*, coarse: bool) -> int:
    """Returns the pixels left of a run's charts: the same for all, so that their time axes stand above each other."""
    return 84 if coarse else 120


def state_bars(
    timeline: Timeline,
    zone: str,
    scheme: Scheme,
    revision: str,
    *,
    coarse: bool = False,
    height: int = 300,
    neutral: bool = False,
) -> dict[str, Any]:
    """Returns GPU-hours by state over time as stacked bars, one trace a state that occurs."""
    starts = [wall(row.start_ms, zone) for row in timeline.rows]
    widths = [BAR_FILL * (row.end_ms - row.start_ms) for row in timeline.rows]
    traces = [_head(timeline.rows, starts)]
    for state, field in FIELDS.items():
        values = [getattr(row, field) for row in timeline.rows]
        if any(values):
            traces.append(
                {
                    "type": "bar",
                    "name": label(state),
                    "x": starts,
                    "y": values,
                    "offset": 0,
                    "width": widths,
                    "marker": fill(state, scheme, neutral=neutral),
                    "customdata": [number_gpu_h(value) for value in values],
                    "hovertemplate": f"%{{customdata}} GPU-h {label(state)}<extra></extra>",
                }
            )
    return {
        "data": traces,
        "layout": layout(
            scheme,
            revision,
            height=height,
            coarse=coarse,
            barmode="stack",
            hovermode="x unified",
            xaxis=time_axis(timeline.bucket_ms, coarse=coarse),
            yaxis={"rangemode": "tozero", "title": {"text": "GPU-h"}, "nticks": 6, "fixedrange": True},
        ),
    }


def _head(rows: Sequence[TimelineRow], starts: list[str]) -> dict[str, Any]:
    """The first line of the hover: UTC and the whole. An invisible line, so that it costs no ink."""
    wholes = [
        row.capacity_gpu_h
        if row.capacity_gpu_h is not None
        else row.active_gpu_h + row.low_gpu_h + row.idle_held_gpu_h + row.idle_empty_gpu_h + row.unknown_gpu_h
        for row in rows
    ]
    what = "capacity" if rows and rows[0].capacity_gpu_h is not None else "allocated"
    return {
        "type": "scatter",
        "mode": "lines",
        "x": starts,
        "y": [0] * len(starts),
        "line": {"width": 0, "color": "rgba(0,0,0,0)"},
        "customdata": [
            f"{number_gpu_h(whole)} GPU-h {what} · {(format_iso(row.start_ms) or '')[11:16]} UTC"
            for row, whole in zip(rows, wholes, strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
        "name": what,
    }


def time_axis(bucket_ms: int, *, coarse: bool) -> dict[str, Any]:
    """Returns the time axis of charts over buckets of this length, the same for all on a page."""
    return {
        "type": "date",
        "hoverformat": "%a %-d %b" if bucket_ms >= DAY_MS else "%a %-d %b %H:%M",
        "tickformatstops": tick_formats(),
        "nticks": 4 if coarse else 8,
        "tickangle": 0,
    }


def tick_formats() -> list[dict[str, Any]]:
    """Returns how a time axis writes its ticks, by their distance; 24 hours and day before month."""
    return [
        {"dtickrange": [None, 60_000], "value": "%H:%M:%S"},
        {"dtickrange": [60_000, 43_200_000], "value": "%H:%M\n%a %-d %b"},
        {"dtickrange": [43_200_000, "M1"], "value": "%-d %b"},
        {"dtickrange": ["M1", None], "value": "%b %Y"},
    ]


def lane_traces(lanes: Sequence[Lane], zone: str, scheme: Scheme, axis: str = "y") -> list[dict[str, Any]]:
    """Returns state lanes as horizontal bars, one trace a state: equal states are merged before they come here."""
    traces = []
    for state in STATES:
        stretches = [
            (place, lane, stretch)
            for place, lane in enumerate(lanes)
            for stretch in lane.stretches
            if stretch.state == state
        ]
        if not stretches:
            continue
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": label(state),
                "y": [str(place) for place, _, _ in stretches],
                "base": [wall(stretch.start_ms, zone) for _, _, stretch in stretches],
                "x": [stretch.end_ms - stretch.start_ms for _, _, stretch in stretches],
                "width": 0.72,
                "yaxis": axis,
                "marker": fill(state, scheme),
                "customdata": [
                    [
                        format_duration(stretch.end_ms - stretch.start_ms),
                        f"{local(stretch.start_ms, zone):%a %H:%M}-{local(stretch.end_ms, zone):%H:%M}",
                        f"{(format_iso(stretch.start_ms) or '')[11:16]} UTC",
                        plain(lane.gpu),
                    ]
                    for _, lane, stretch in stretches
                ],
                "hovertemplate": f"<b>%{{customdata[3]}}</b><br>{label(state)} for %{{customdata[0]}}"
                "<br>%{customdata[1]} (%{customdata[2]})<extra></extra>",
            }
        )
    return traces


def lanes_figure(
    lanes: Sequence[Lane],
    span: tuple[int, int],
    events: Sequence[EventRow],
    zone: str,
    scheme: Scheme,
    revision: str,
    *,
    coarse: bool = False,
) -> dict[str, Any]:
    """Returns GPU x time state lanes of at most MAX_LANES GPUs over ``span`` (UTC ms), events as dotted lines."""
    tokens = SCHEMES[scheme]
    height = 46 + LANE_HEIGHT_PX * max(2, len(lanes))
    return {
        "data": lane_traces(lanes, zone, scheme),
        "layout": layout(
            scheme,
            revision,
            height=height,
            coarse=coarse,
            barmode="overlay",
            bargap=0.28,
            hovermode="closest",
            margin={"l": left_margin(coarse=coarse), "r": 8, "t": 4, "b": 34},
            xaxis={
                "type": "date",
                "range": [wall(span[0], zone), wall(span[1], zone)],
                "tickformatstops": tick_formats(),
                "nticks": 4 if coarse else 8,
                "tickangle": 0,
                "automargin": False,
            },
            yaxis={
                "type": "category",
                "categoryorder": "array",
                "categoryarray": [str(place) for place in reversed(range(len(lanes)))],
                "tickvals": [str(place) for place in range(len(lanes))],
                "ticktext": [short(lane.gpu, 10 if coarse else 15) for lane in lanes],
                "automargin": False,
                "showgrid": False,
                "fixedrange": True,
                "ticklabelposition": "outside",
                "ticklabelstandoff": 8,
            },
            shapes=[
                {
                    "type": "line",
                    "x0": wall(event.ts_ms, zone),
                    "x1": wall(event.ts_ms, zone),
                    "yref": "paper",
                    "y0": 0,
                    "y1": 1,
                    "line": {"color": tokens.text, "width": 1.5, "dash": "dot"},
                }
                for event in events[:50]
            ],
        ),
    }
