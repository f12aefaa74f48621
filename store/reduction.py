"""Sums and maxima of millions of parts of rows by (GPU, minute, run).

DuckDB's hash aggregate takes 1.3 us a row for these 60 aggregates, most of it for touching their states; over sorted
columns numpy's reduceat takes a fifth of that, and the sums are the same integers.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from store.catalog import METRICS, Kind, Metric
from store.parts import MINUTE_MS, Ints, Parts
from store.schema_gpus import rollup_columns

STATES: Final = ("unknown", "active", "low", "idle_held", "idle")
"""States by the code that ``parts`` give in column ``state``."""


def by_minute(parts: Parts) -> pa.Table:
    """Returns one row per (minute_ms, node_key, gpu_key, run_key) with rows, times and rollup columns.

    Beside keys, times and every metric the rows of ``parts`` have state (code in STATES), blind and parked (booleans).
    """
    state, ms = parts.column("state")[0], parts.ms
    columns: dict[str, Any] = {
        "minute_ms": parts.minute[parts.starts] * MINUTE_MS,
        **{name: parts.first(name) for name in ("node_key", "gpu_key", "run_key")},
        "rows": _sum(parts, parts.ends),
        "covered_ms": _sum(parts, ms * (state != 0)),
    }
    for code, name in enumerate(STATES[1:], 1):
        columns[f"{name}_ms"] = _sum(parts, ms * (state == code))
    columns["unmeasurable_ms"] = _sum(parts, ms * ((state == 0) & parts.column("blind")[0]))
    held = state == STATES.index("idle_held")
    columns["parked_ms"] = _sum(parts, ms * (held & parts.column("parked")[0]))
    whole_ms = _sum(parts, ms)
    for metric in METRICS:
        columns |= _reduced(parts, metric, whole_ms)
    return pa.table(columns)


def _sum(parts: Parts, values: npt.NDArray[Any]) -> Ints:
    found: Ints = np.add.reduceat(values, parts.starts, dtype=np.int64)
    return found


def _reduced(parts: Parts, metric: Metric, whole_ms: Ints) -> dict[str, pa.Array]:
    name, ms = metric.name, parts.ms
    if parts.is_empty(name):
        columns = (column.split()[0] for column in rollup_columns(metric))
        return {column: pa.nulls(len(parts.starts), pa.int64()) for column in columns}
    values, valid = parts.column(name)
    time_ms = whole_ms if valid is None else _sum(parts, ms * valid)
    missing = None if valid is None else np.logical_not(np.logical_or.reduceat(valid, parts.starts))

    def array(result: npt.NDArray[Any]) -> pa.Array:
        return pa.array(result, mask=missing)

    def highest() -> pa.Array:
        if valid is None or values.dtype.kind == "u":
            return array(np.maximum.reduceat(values, parts.starts))
        return array(np.maximum.reduceat(np.where(valid, values, np.iinfo(values.dtype).min), parts.starts))

    match metric.kind:
        case Kind.GAUGE:
            total = _sum(parts, values * ms)
            return {f"{name}_sum": array(total), f"{name}_ms": array(time_ms), f"{name}_max": highest()}
        case Kind.DELTA:
            return {f"{name}_sum": array(_sum(parts, _share(parts, values)))}
        case Kind.COUNT:
            return {f"{name}_max": highest()}
        case Kind.FLAGS:
            seen = np.bitwise_or.reduceat(values, parts.starts)
            return {f"{name}_ms": array(_sum(parts, ms * (values != 0))), f"{name}_seen": array(seen)}


def _share(parts: Parts, values: npt.NDArray[Any]) -> Ints:
    """Returns each part's share of its row's amount by time.

    The differences of floors of running shares: however a row is cut, its parts add up to it exactly.
    """
    span = parts.column("span_ms")[0].astype(np.int64)
    amount = values.astype(np.int64)
    cut = np.flatnonzero(parts.ms != span)
    if cut.size:
        before, after = parts.before[cut], parts.after[cut]
        amount[cut] = amount[cut] * after // span[cut] - amount[cut] * before // span[cut]
    return amount
