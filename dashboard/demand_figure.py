"""The chart of pending GPU requests against idle GPUs: a step line over bars, on the buckets of the chart above it."""

from collections.abc import Sequence
from typing import Any, Final

from analytics.model import State
from analytics.queries.demand import Demand, DemandRow
from analytics.wording import UNKNOWN, format_iso, number_gpu_h
from dashboard.figures import BAR_FILL, fill, layout, time_axis, wall
from dashboard.theme import SCHEMES, Scheme

WAITING: Final = "asked for, waiting for hardware"
IDLE: Final = "held and idle"
_HEIGHT_PX: Final = 240


def demand_figure(found: Demand, zone: str, scheme: Scheme, revision: str, *, coarse: bool = False) -> dict[str, Any]:
    """Returns GPUs that pending jobs wait for as a line and those held and idle as bars; a gap is not known."""
    starts = [wall(row.start_ms, zone) for row in found.rows]
    bars = {
        "type": "bar",
        "name": IDLE,
        "x": starts,
        "y": [row.idle_gpus for row in found.rows],
        "offset": 0,
        "width": [BAR_FILL * (row.end_ms - row.start_ms) for row in found.rows],
        "marker": fill(State.IDLE, scheme),
        "hoverinfo": "skip",
    }
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": WAITING,
        **_steps(found.rows, zone),
        "line": {"width": 2, "color": SCHEMES[scheme].text},
        "connectgaps": False,
        "hoverinfo": "skip",
    }
    return {
        "data": [_said(found.rows, starts), bars, line],
        "layout": layout(
            scheme,
            revision,
            height=_HEIGHT_PX,
            coarse=coarse,
            hovermode="x unified",
            xaxis=time_axis(found.bucket_ms, coarse=coarse),
            yaxis={"rangemode": "tozero", "title": {"text": "GPUs"}, "nticks": 5, "fixedrange": True},
        ),
    }


def _steps(rows: Sequence[DemandRow], zone: str) -> dict[str, Any]:
    """Each bucket from its beginning to its end, so that one beside a gap is seen as well."""
    return {
        "x": [wall(moment, zone) for row in rows for moment in (row.start_ms, row.end_ms)],
        "y": [value for row in rows for value in (row.waiting_gpus, row.waiting_gpus)],
    }


def _said(rows: Sequence[DemandRow], starts: list[str]) -> dict[str, Any]:
    """What the hover says, on an invisible line: the drawn ones have no value where something is not known."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": starts,
        "y": [0] * len(starts),
        "line": {"width": 0, "color": "rgba(0,0,0,0)"},
        "customdata": [
            f"{_known(row.waiting_gpus)} GPUs {WAITING}<br>{_known(row.idle_gpus)} GPUs {IDLE}"
            f"<br>{(format_iso(row.start_ms) or '')[11:16]} UTC"
            for row in rows
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
        "name": "demand",
    }


def _known(gpus: float | None) -> str:
    return UNKNOWN if gpus is None else number_gpu_h(gpus)
