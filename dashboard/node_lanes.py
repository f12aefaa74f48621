"""The day of each node as a lane that is filled, in every step of time, by the shares of its GPUs in each state."""

from collections.abc import Iterator
from typing import Any, Final

from analytics.queries.node_days import STATES, NodeDays, NodeLane
from analytics.wording import format_iso, format_pct, label, local
from dashboard.figures import fill, layout, left_margin, plain, short, tick_formats, wall
from dashboard.theme import Scheme

THICK: Final = 0.78


def node_lanes_figure(
    days: NodeDays, zone: str, scheme: Scheme, revision: str, *, coarse: bool = False
) -> dict[str, Any]:
    """Returns one lane a node (or group) as bars, one trace a state, the first lane on top."""
    lane_px = 38 if len(days.lanes) <= 5 else 24 if len(days.lanes) <= 16 else 18
    places = list(range(len(days.lanes)))
    return {
        "data": [trace for place, state in enumerate(STATES) if (trace := _trace(days, place, state, zone, scheme))],
        "layout": layout(
            scheme,
            revision,
            height=46 + lane_px * max(2, len(days.lanes)),
            coarse=coarse,
            barmode="overlay",
            hovermode="closest",
            margin={"l": left_margin(coarse=coarse), "r": 8, "t": 4, "b": 34},
            xaxis={
                "type": "date",
                "range": [wall(days.start_ms, zone), wall(days.end_ms, zone)],
                "tickformatstops": tick_formats(),
                "nticks": 4 if coarse else 8,
                "tickangle": 0,
                "automargin": False,
            },
            yaxis={
                "range": [len(places) - 0.5, -0.5],
                "tickvals": places,
                "ticktext": [short(lane.name, 10 if coarse else 15) for lane in days.lanes],
                "automargin": False,
                "showgrid": False,
                "fixedrange": True,
                "ticklabelstandoff": 8,
            },
        ),
    }


class _Bar:
    """Steps that follow each other with the same shares: one bar, from ``below`` to ``below + share`` of the lane."""

    def __init__(self, start_ms: int, below: float, share: float) -> None:
        self.start_ms = self.end_ms = start_ms
        self.below, self.share = below, share


def _trace(days: NodeDays, place: int, state: str, zone: str, scheme: Scheme) -> dict[str, Any] | None:
    bars = [(row, lane, bar) for row, lane in enumerate(days.lanes) for bar in _bars(days, lane, place)]
    if not bars:
        return None
    return {
        "type": "bar",
        "orientation": "h",
        "name": label(state),
        "y": [row for row, _, _ in bars],
        "base": [wall(bar.start_ms, zone) for _, _, bar in bars],
        "x": [bar.end_ms - bar.start_ms for _, _, bar in bars],
        # The axis runs downwards: what lies below in the lane has the larger place.
        "offset": [round(THICK / 2 - THICK * (bar.below + bar.share), 3) for _, _, bar in bars],
        "width": [round(THICK * bar.share, 3) for _, _, bar in bars],
        "marker": fill(state, scheme),
        "customdata": [
            [
                plain(lane.name),
                format_pct(100 * bar.share),
                f"{local(bar.start_ms, zone):%a %H:%M}-{local(bar.end_ms, zone):%H:%M}",
                f"{(format_iso(bar.start_ms) or '')[11:16]} UTC",
            ]
            for _, lane, bar in bars
        ],
        "hovertemplate": f"<b>%{{customdata[0]}}</b><br>{label(state)}: %{{customdata[1]}} of its GPUs"
        "<br>%{customdata[2]} (%{customdata[3]})<extra></extra>",
    }


def _bars(days: NodeDays, lane: NodeLane, place: int) -> Iterator[_Bar]:
    found: _Bar | None = None
    at = days.start_ms
    for part in lane.parts:
        # Steps begin on full hours: the first is shorter where the period begins within one.
        end = min(days.end_ms, at // 3_600_000 * 3_600_000 + days.step_ms)
        whole = sum(part) or 1
        below, share = round(sum(part[:place]) / whole, 2), round(part[place] / whole, 2)
        if found is None or (found.below, found.share) != (below, share):
            if found is not None and found.share > 0:
                yield found
            found = _Bar(at, below, share)
        found.end_ms = at = end
    if found is not None and found.share > 0:
        yield found
