"""Bands in the clocks chart: when something held the clocks down, and on how many GPUs."""

from typing import Any, Final

import numpy as np

from analytics.clocks import SLOWDOWNS, Slowdown
from analytics.queries.series import GpuSeries
from dashboard.bucket_grid import Grid
from dashboard.theme import SCHEMES, Scheme

METRIC: Final = "event_reasons"
HEIGHT: Final = 0.09
"""Of a band, as a share of the scale beneath it."""
_ROOM: Final = 0.04
PATTERNS: Final = {"power_brake": "/", "hardware": "."}
"""Faults are told apart without a colour; heat is solid. The legend's are in assets/40-pages.css."""


class Bands:
    """The reasons that occur in a run; each has a band of its own above the scale, in the order of SLOWDOWNS."""

    def __init__(self, gpus: list[GpuSeries], grid: Grid) -> None:
        self._gpus = len(gpus)
        self._grid = grid
        bits = np.nan_to_num(grid.table(gpus, METRIC)).astype(np.int64)
        counts = {slowdown: _slowed(slowdown, bits).sum(axis=0) for slowdown in SLOWDOWNS}
        self._counts = {slowdown: count for slowdown, count in counts.items() if count.any()}

    @property
    def reasons(self) -> list[Slowdown]:
        """What occurs at all."""
        return list(self._counts)

    @property
    def top(self) -> float:
        """Where the scale of the chart has to end for them, 1 being its highest value."""
        return 1.08 + (HEIGHT + _ROOM) * len(self._counts)

    def traces(self, axis: str, highest: float, scheme: Scheme) -> list[dict[str, Any]]:
        """Returns one trace a reason: a bar for each bucket in which some GPU was held down."""
        return [
            self._trace(
                slowdown,
                axis,
                highest * (self.top - (HEIGHT + _ROOM) * (place + 1)),
                round(highest * HEIGHT, 1),
                scheme,
            )
            for place, slowdown in enumerate(self._counts)
        ]

    def _trace(self, slowdown: Slowdown, axis: str, base: float, height: float, scheme: Scheme) -> dict[str, Any]:
        many = f" on %{{customdata}} of {self._gpus} GPUs" if self._gpus > 1 else ""
        counts = [int(count) or None for count in self._counts[slowdown]]
        return {
            "type": "bar",
            **self._grid.x,
            "y": [None if count is None else height for count in counts],
            "base": base,
            "offset": 0,
            "width": self._grid.step_ms,
            "yaxis": axis,
            "marker": _marker(slowdown, scheme),
            "name": slowdown.words,
            "customdata": counts,
            "hovertemplate": f"{slowdown.words}{many}<extra></extra>",
        }


def _marker(slowdown: Slowdown, scheme: Scheme) -> dict[str, Any]:
    """A fault is dark, never in the colour of a state; the power cap is none and stays in the background."""
    tokens = SCHEMES[scheme]
    marker: dict[str, Any] = {"color": tokens.text if slowdown.fault else tokens.edge, "line": {"width": 0}}
    if slowdown.id in PATTERNS:
        dark = {"bgcolor": tokens.surface, "fgcolor": tokens.text}
        marker["pattern"] = {"shape": PATTERNS[slowdown.id], "size": 4, "solidity": 0.5, **dark}
    return marker


def _slowed(slowdown: Slowdown, bits: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    found: np.ndarray[Any, np.dtype[np.bool_]] = ((bits & slowdown.any_of) != 0) & ((bits & slowdown.none_of) == 0)
    return found
