"""What each GPU of a run did over time: measurements for line charts. State lanes are in lanes.py."""

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from analytics.model import MINUTE_MS, Viewer
from analytics.queries.lanes import Hold, drawn_from_rows, holds
from analytics.queries.rollup import floor
from analytics.queries.scope import fill
from store.catalog import BY_NAME, Kind, Metric
from store.database import Cursor
from store.minutes import minutes
from store.samples import samples

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]

MAX_RAW_ROWS: Final = 150_000
"""Up to this many rows are averaged; above, the minutes are."""

_STEPS_S: Final = (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400)


class GpuSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU: ``at_ms`` is the start of each bucket; values are in natural units, None where there is no reading.

    An amount such as energy is the sum over the bucket, or goes by the second where rates were asked for; a count is
    its maximum, flags are the bits seen.
    """

    gpu_key: int
    gpu: str
    node: str | None
    at_ms: list[int]
    values: dict[str, list[float | None]]


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """``resolution_ms`` is the width of a bucket; ``from_raw`` says that rows and not minutes were averaged."""

    resolution_ms: int
    from_raw: bool
    gpus: list[GpuSeries]


_ROWS: Final = """
    SELECT gpu_key, CAST((ts_ms - 1) // $step AS BIGINT) AS bucket, {values} FROM samples
    WHERE run_key = $run AND ts_ms > $start AND ts_ms <= $end
        AND node_key IN (SELECT node_key FROM allocation WHERE run_key = $run)
    GROUP BY 1, 2"""

_MINUTES: Final = """
    SELECT gpu_key, CAST(minute_ms // $step AS BIGINT) AS bucket, {values} FROM minutes
    WHERE run_key = $run AND minute_ms >= $start AND minute_ms < $end GROUP BY 1, 2"""


def metrics(
    cur: Cursor,
    viewer: Viewer,
    run_key: int,
    names: tuple[str, ...],
    max_points: int = 1000,
    *,
    rates: bool = False,
) -> Series:
    """Returns the named catalogue metrics of a run, time-weighted per bucket. Raises ValueError for an unknown name.

    ``rates``: amounts are told per second of the time that has readings, so that buckets cut by an end compare.
    """
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        raise ValueError(f"{unknown[0]} is not a metric of the catalogue.")
    held = holds(cur, viewer, run_key)
    if not held or not names:
        return Series(resolution_ms=MINUTE_MS, from_raw=True, gpus=[])
    start, end = min(hold.start_ms for hold in held), max(hold.end_ms for hold in held)
    from_raw = drawn_from_rows(cur, held, MAX_RAW_ROWS)
    step = _step(cur, end - start, max_points, from_raw=from_raw)
    of = _of_rows if from_raw else _of_minutes
    expressions = ", ".join(of(BY_NAME[name], rates=rates) for name in names)
    params = {"run": run_key, "start": floor(start, step), "end": end, "step": step}
    with (samples if from_raw else minutes)(cur, params["start"], end):
        found = cur.arrow(fill(_ROWS if from_raw else _MINUTES, values=expressions), params)
    gpu, bucket, *columns = (column.to_numpy() for column in found.columns)  # NULL becomes NaN
    return Series(
        resolution_ms=step,
        from_raw=from_raw,
        gpus=[
            _series(hold, step, bucket[mine], dict(zip(names, (column[mine] for column in columns), strict=True)))
            for hold in held
            for mine in [gpu == hold.gpu_key]
        ],
    )


def _series(hold: Hold, step: int, buckets: _Ints, values: dict[str, _Floats]) -> GpuSeries:
    numbers = range(hold.start_ms // step, -(-hold.end_ms // step))
    inside = (buckets >= numbers.start) & (buckets < numbers.stop)
    places = buckets[inside] - numbers.start
    return GpuSeries(
        gpu_key=hold.gpu_key,
        gpu=hold.gpu,
        node=hold.node,
        at_ms=[number * step for number in numbers],
        values={name: _placed(column[inside], places, len(numbers)) for name, column in values.items()},
    )


def _placed(values: _Floats, places: _Ints, count: int) -> list[float | None]:
    """The values at their places among ``count``, None elsewhere and where there is no reading."""
    known = ~np.isnan(values)
    placed = np.full(count, None, dtype=object)
    placed[places[known]] = values[known]
    found: list[float | None] = placed.tolist()
    return found


def _step(cur: Cursor, length_ms: int, max_points: int, *, from_raw: bool) -> int:
    """The shortest step that keeps to the points asked for and is no finer than the data."""
    finest = (cur.scalar("SELECT max(interval_ms) FROM node") or MINUTE_MS) if from_raw else MINUTE_MS
    least = max(finest, length_ms / max(1, max_points - 1))
    return next((step_s * 1000 for step_s in _STEPS_S if step_s * 1000 >= least), _STEPS_S[-1] * 1000)


def _of_rows(metric: Metric, *, rates: bool) -> str:
    name, scale = metric.name, f"{metric.per_unit}.0"
    match metric.kind:
        case Kind.GAUGE:
            weight = f"sum(span_ms) FILTER ({name} IS NOT NULL)"
            return f"sum(CAST({name} AS BIGINT) * span_ms) / nullif({weight}, 0) / {scale}"
        case Kind.DELTA:
            seconds = f" / nullif(sum(span_ms) FILTER ({name} IS NOT NULL), 0) * 1000" if rates else ""
            return f"CAST(sum({name}) AS DOUBLE) / {scale}{seconds}"
        case Kind.COUNT:
            return f"max({name}) / {scale}"
        case Kind.FLAGS:
            return f"CAST(bit_or({name}) AS DOUBLE)"


def _of_minutes(metric: Metric, *, rates: bool) -> str:
    name, scale = metric.name, f"{metric.per_unit}.0"
    match metric.kind:
        case Kind.GAUGE:
            return f"sum({name}_sum) / nullif(sum({name}_ms), 0) / {scale}"
        case Kind.DELTA:
            seconds = f" / nullif(sum(covered_ms) FILTER ({name}_sum IS NOT NULL), 0) * 1000" if rates else ""
            return f"CAST(sum({name}_sum) AS DOUBLE) / {scale}{seconds}"
        case Kind.COUNT:
            return f"max({name}_max) / {scale}"
        case Kind.FLAGS:
            return f"CAST(bit_or({name}_seen) AS DOUBLE)"
