"""How GPU-hours spread over utilization, and over utilization and size: the two charts above the table of jobs."""

import math
from typing import Final

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries.figures import gpu_h
from analytics.queries.pieces import UNITS_PER_GPU_H
from analytics.queries.runs import per_run
from analytics.queries.scope import fill
from store.database import Cursor

BIN_PCT: Final = 10
CELLS_PER_DECADE: Final = 3


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """Runs whose mean utilization lies in [from_pct, to_pct), the last bin including 100."""

    from_pct: int
    to_pct: int
    gpu_h: float
    runs: int


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """Ten bins; runs without any reading are counted apart, never as 0 %."""

    bins: list[Bin]
    unknown_gpu_h: float
    unknown_runs: int


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """Runs by size and utilization; ``from_gpu_h`` to ``to_gpu_h`` is a third of a decade, both half open."""

    from_gpu_h: float
    to_gpu_h: float
    from_pct: int
    to_pct: int
    gpu_h: float
    idle_gpu_h: float
    runs: int


class _Bin(msgspec.Struct, frozen=True):
    bin: int | None
    held: int
    runs: int


class _Cell(msgspec.Struct, frozen=True):
    size: int
    bin: int
    held: int
    idle: int
    runs: int


# least() passes over NULL: without the CASE a run that nobody measured would be among the busiest.
_BIN: Final = "CASE WHEN util_mean_pct IS NOT NULL THEN CAST(least(9, floor(util_mean_pct / 10)) AS INTEGER) END"

_HISTOGRAM: Final = """
    SELECT {bin} AS bin, CAST(sum(held) AS BIGINT) AS held, count(*) AS runs FROM ({runs}) GROUP BY 1"""

# The edges are given, so that a run lies on the same side of them here and under the filter that a click sets.
_HEXMAP: Final = """
    WITH edge AS (SELECT unnest($edges) AS from_units, unnest(range(len($edges))) AS size)
    SELECT CAST(e.size AS INTEGER) AS size, {bin} AS bin, CAST(sum(r.held) AS BIGINT) AS held,
        CAST(sum(r.idle) AS BIGINT) AS idle, count(*) AS runs
    FROM ({runs}) AS r ASOF JOIN edge e ON r.held >= e.from_units
    WHERE util_mean_pct IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"""

_EDGES: Final = [0.0] + [
    round(10.0 ** (exponent / CELLS_PER_DECADE), 4 - exponent // CELLS_PER_DECADE)
    for exponent in range(-2 * CELLS_PER_DECADE, 6 * CELLS_PER_DECADE)
]


def histogram(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> Histogram:
    """Returns GPU-hours of runs by their mean utilization in ten bins."""
    runs = per_run(viewer, window, where, ("held", "util_mean_pct"))
    found = {row.bin: row for row in cur.rows(fill(_HISTOGRAM, bin=_BIN, runs=runs.sql), runs.params, _Bin)}
    empty = _Bin(None, 0, 0)
    rows = [(number, found.get(number, empty)) for number in range(100 // BIN_PCT)]
    unknown = found.get(None, empty)
    return Histogram(
        bins=[
            Bin(from_pct=n * BIN_PCT, to_pct=(n + 1) * BIN_PCT, gpu_h=gpu_h(row.held), runs=row.runs) for n, row in rows
        ],
        unknown_gpu_h=gpu_h(unknown.held),
        unknown_runs=unknown.runs,
    )


def hexmap(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> list[Cell]:
    """Returns the non-empty cells of GPU-hours (log) by mean utilization; runs without a reading are left out."""
    runs = per_run(viewer, window, where, ("held", "idle", "util_mean_pct"))
    params = {"edges": [math.ceil(edge * UNITS_PER_GPU_H) for edge in _EDGES]} | runs.params
    ends = [*_EDGES[1:], 10.0 * _EDGES[-1]]
    return [
        Cell(
            from_gpu_h=_EDGES[row.size],
            to_gpu_h=ends[row.size],
            from_pct=row.bin * BIN_PCT,
            to_pct=(row.bin + 1) * BIN_PCT,
            gpu_h=gpu_h(row.held),
            idle_gpu_h=gpu_h(row.idle),
            runs=row.runs,
        )
        for row in cur.rows(fill(_HEXMAP, bin=_BIN, runs=runs.sql), params, _Cell)
    ]
