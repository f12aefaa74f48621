"""Sums and maxima of millions of parts of rows by (GPU, minute, run).

DuckDB's hash aggregate takes 1.3 us a row for these 60 aggregates, most of it for touching their states; over sorted
columns numpy's reduceat takes a fifth of that, and the sums are the same integers.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from store.catalog import METRICS, Kind, Metric

STATES: Final = ("unknown", "active", "low", "idle_held", "idle")
"""States by the code that ``parts`` give in column ``state``."""

_Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]


class _Groups:
    """Rows of a table put in order of their group, and where each group starts."""

    starts: _Ints

    def __init__(self, parts: pa.Table) -> None:
        runs = parts["run_key"].combine_chunks()
        run = pc.fill_null(runs.dictionary_encode().indices, -1).to_numpy().astype(np.int64) + 1
        minute = parts["minute"].to_numpy()
        gpu = parts["gpu_key"].to_numpy().astype(np.int64)
        if not len(minute):  # hours that held allocations and no row at all
            self.parts, self.starts = parts.combine_chunks(), np.empty(0, dtype=np.int64)
            return
        first = minute.min()
        key = (gpu * (minute.max() - first + 1) + (minute - first)) * (run.max() + 1) + run
        if np.any(key[1:] < key[:-1]):
            order = np.argsort(key, kind="stable")
            parts, key = parts.take(pa.array(order)), key[order]
        self.parts = parts.combine_chunks()
        self.starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))

    def first(self, name: str) -> pa.Array:
        return self.parts[name].combine_chunks().take(pa.array(self.starts))

    def sum(self, values: npt.NDArray[Any]) -> _Ints:
        return np.add.reduceat(values, self.starts, dtype=np.int64)

    def column(self, name: str) -> tuple[npt.NDArray[Any], _Bools | None]:
        """Returns a column with NULL as 0, and where it is not NULL (None: nowhere NULL)."""
        array = self.parts[name].combine_chunks()
        if not array.null_count:
            return array.to_numpy(zero_copy_only=False), None
        return pc.fill_null(array, 0).to_numpy(zero_copy_only=False), array.is_valid().to_numpy(zero_copy_only=False)


def by_minute(parts: pa.Table) -> pa.Table:
    """Returns one row per (minute_ms, node_key, gpu_key, run_key) with rows, times and rollup columns.

    Args:
        parts: stretches of rows that lie in one minute each: minute, node_key, gpu_key, run_key (NULL: none), ms, ends
            (1 where the row ends here), state (code in STATES), blind and parked (booleans), before and after (running
            time of the row, in ms, at both ends of the part), span_ms, and every metric.
    """
    groups = _Groups(parts)
    ms = groups.column("ms")[0].astype(np.int64)
    state = groups.column("state")[0]
    columns: dict[str, Any] = {
        "minute_ms": pc.multiply(groups.first("minute"), 60_000),
        **{name: groups.first(name) for name in ("node_key", "gpu_key", "run_key")},
        "rows": groups.sum(groups.column("ends")[0]),
        "covered_ms": groups.sum(np.where(state != 0, ms, 0)),
    }
    for code, name in enumerate(STATES[1:], 1):
        columns[f"{name}_ms"] = groups.sum(np.where(state == code, ms, 0))
    columns["unmeasurable_ms"] = groups.sum(np.where((state == 0) & groups.column("blind")[0], ms, 0))
    held = state == STATES.index("idle_held")
    columns["parked_ms"] = groups.sum(np.where(held & groups.column("parked")[0], ms, 0))
    whole_ms = groups.sum(ms)
    for metric in METRICS:
        columns |= _reduced(groups, metric, ms, whole_ms)
    return pa.table(columns)


def _reduced(groups: _Groups, metric: Metric, ms: _Ints, whole_ms: _Ints) -> dict[str, pa.Array]:
    name = metric.name
    values, valid = groups.column(name)
    time_ms = whole_ms if valid is None else groups.sum(np.where(valid, ms, 0))
    missing = None if valid is None else np.logical_not(np.logical_or.reduceat(valid, groups.starts))

    def array(result: npt.NDArray[Any]) -> pa.Array:
        return pa.array(result, mask=missing)

    def highest() -> pa.Array:
        if valid is None or values.dtype.kind == "u":
            return array(np.maximum.reduceat(values, groups.starts))
        return array(np.maximum.reduceat(np.where(valid, values, np.iinfo(values.dtype).min), groups.starts))

    match metric.kind:
        case Kind.GAUGE:
            total = groups.sum(values * ms)
            return {f"{name}_sum": array(total), f"{name}_ms": array(time_ms), f"{name}_max": highest()}
        case Kind.DELTA:
            return {f"{name}_sum": array(groups.sum(_share(groups, values, ms)))}
        case Kind.COUNT:
            return {f"{name}_max": highest()}
        case Kind.FLAGS:
            seen = np.bitwise_or.reduceat(values, groups.starts)
            return {f"{name}_ms": array(groups.sum(np.where(values != 0, ms, 0))), f"{name}_seen": array(seen)}


def _share(groups: _Groups, values: npt.NDArray[Any], ms: _Ints) -> _Ints:
    """Returns each part's share of its row's amount by time.

    The differences of floors of running shares: however a row is cut, its parts add up to it exactly.
    """
    span = groups.column("span_ms")[0].astype(np.int64)
    amount = values.astype(np.int64)
    cut = np.flatnonzero(ms != span)
    if cut.size:
        before, after = groups.column("before")[0][cut], groups.column("after")[0][cut]
        amount[cut] = amount[cut] * after // span[cut] - amount[cut] * before // span[cut]
    return amount
