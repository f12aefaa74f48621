"""Views for people who write SQL: names for keys, times of UTC, and every value in its natural unit.

Stored values are scaled integers of narrow types, in which a sum or a product overflows. Here each is a DOUBLE, cast
before anything is done with it, and what is unknown is NULL. They are made anew for each reader, within one snapshot.
"""

import contextlib
from collections.abc import Iterator
from typing import Final

from store.catalog import METRICS, Kind, Metric
from store.database import Cursor
from store.minutes import minutes
from store.samples import FOLDER, MAX_TIME_MS, samples

_HOUR_MS: Final = 3_600_000

# A GPU that only accounting counts has no row in gpu: it weighs as a whole one.
_GPU_H: Final = f"coalesce(g.slices::DOUBLE / g.slices_of, 1) / {_HOUR_MS}"
_STATES: Final = ("held", "active", "low", "idle_held", "idle", "unknown", "unmeasurable", "stray", "parked")
"""Times of a rollup. What is called idle there is idle and empty; in these views idle is all that is idle."""

_WHERE: Final = "n.cluster, n.name AS node, g.idx AS gpu, g.uuid AS gpu_uuid, g.model"
_WHOSE: Final = 'r.job_id, r.job_id_raw, r.user_name AS "user", r.account, r."partition"'
_NAMED: Final = (
    "LEFT JOIN node n ON n.node_key = s.node_key LEFT JOIN gpu g ON g.gpu_key = s.gpu_key "
    "LEFT JOIN run r ON r.run_key = s.run_key"
)


def _utc(column: str, name: str) -> str:
    return f"epoch_ms({column}) AS {name}"


def _value(metric: Metric) -> str:
    return metric.name if metric.kind == Kind.FLAGS else f"{metric.name}::DOUBLE / {metric.per_unit} AS {metric.name}"


def _over_time(metric: Metric) -> str:
    """Returns a metric of a rollup: mean and highest, sum, highest, or for how long any bit was set and which."""
    name, per_unit = metric.name, metric.per_unit
    match metric.kind:
        case Kind.GAUGE:
            mean = f"{name}_sum::DOUBLE / nullif({name}_ms, 0) / {per_unit} AS {name}"
            return f"{mean}, {name}_max::DOUBLE / {per_unit} AS {name}_max"
        case Kind.DELTA:
            return f"{name}_sum::DOUBLE / {per_unit} AS {name}"
        case Kind.COUNT:
            return f"{name}_max::DOUBLE / {per_unit} AS {name}"
        case Kind.FLAGS:
            return f"{name}_ms / 1000.0::DOUBLE AS {name}_s, {name}_seen"


def _times() -> str:
    parts = {state: f"s.{state}_ms" for state in _STATES} | {"idle": "(s.idle_held_ms + s.idle_ms)"}
    parts["suspended"] = "s.suspended_ms"
    return ", ".join(f"{sql} * {_GPU_H} AS {state}_gpu_h" for state, sql in parts.items())


def _samples() -> str:
    return f"""
        SELECT {_utc("s.ts_ms", "time_utc")}, s.span_ms / 1000.0::DOUBLE AS span_s, {_WHERE}, {_WHOSE},
            {", ".join(map(_value, METRICS))}, s.ts_ms, s.node_key, s.gpu_key, s.run_key
        FROM samples s {_NAMED}"""  # noqa: S608 - names of the catalogue


def _rollup(table: str, bucket: str) -> str:
    return f"""
        SELECT {_utc(f"s.{bucket}", "time_utc")}, {_WHERE}, {_WHOSE}, {_times()},
            {", ".join(map(_over_time, METRICS))}, s.{bucket}, s.node_key, s.gpu_key, s.run_key
        FROM {table} s {_NAMED}"""  # noqa: S608 - names of the catalogue


_SUMMED: Final = ("held", "active", "low", "idle_held", "idle", "unknown")

_RUNS: Final = f"""
    SELECT r.run_key, r.kind, r.cluster, r.job_id, r.job_id_raw, r.restart, r.user_name AS "user", r.account,
        r."partition", r.qos, r.name, r.state, r.exit_code, r.interactive, {_utc("r.submit_ms", "submit_utc")},
        {_utc("r.start_ms", "start_utc")}, {_utc("r.end_ms", "end_utc")}, r.elapsed_ms / 1000.0::DOUBLE AS elapsed_s,
        r.timelimit_ms / 1000.0::DOUBLE AS timelimit_s, r.nodes, r.node_list, r.req_gpus, r.alloc_gpus, r.gpu_type,
        r.alloc_cpus, {", ".join(f"h.{state}_gpu_h" for state in _SUMMED)}, h.util_pct, f.coverage, f.sm_mean_pct,
        f.mem_max_ratio, f.energy_j, f.family
    FROM run r LEFT JOIN footprint_run f USING (run_key) LEFT JOIN (
        SELECT run_key, {", ".join(f"sum({state}_gpu_h) AS {state}_gpu_h" for state in _SUMMED)},
            sum(util_sum) / nullif(sum(util_ms), 0) AS util_pct
        FROM (
            SELECT s.run_key, {_times()}, s.util_pct_sum * {_GPU_H} / 10 AS util_sum,
                s.util_pct_ms * {_GPU_H} AS util_ms
            FROM gpu_hour s LEFT JOIN gpu g USING (gpu_key) WHERE s.run_key IS NOT NULL)
        GROUP BY run_key) h USING (run_key)"""  # noqa: S608 - constants

_FINDINGS: Final = f"""
    SELECT f.finding_id, f.rule, f.title, f.sentence, f.fix, r.cluster, {_WHOSE}, {_utc("f.start_ms", "start_utc")},
        {_utc("f.end_ms", "end_utc")}, f.gpu_ms::DOUBLE / {_HOUR_MS} AS gpu_h, f.confidence, f.coverage,
        {_utc("f.found_ms", "found_utc")}, {_utc("f.closed_ms", "closed_utc")}, f.run_key
    FROM finding f LEFT JOIN run r USING (run_key)"""  # noqa: S608 - constants

VIEWS: Final[dict[str, str]] = {
    "gpu_samples": _samples(),
    "gpu_minutes": _rollup("minutes", "minute_ms"),
    "gpu_hours": _rollup("gpu_hour", "hour_ms"),
    "runs": _RUNS,
    "findings": _FINDINGS,
}
"""Each view's name and SELECT."""


@contextlib.contextmanager
def views(cursor: Cursor, from_ms: int = 0, to_ms: int = MAX_TIME_MS, folder: str = FOLDER) -> Iterator[None]:
    """Makes the views, and ``samples``, readable by the cursor's statements inside the block, all of one snapshot.

    Raw rows are those that end in (from_ms, to_ms], and maybe others: files outside are not opened. ``folder`` is where
    in the data directory the sealed files are read.
    """
    with samples(cursor, from_ms, to_ms, folder), minutes(cursor, from_ms, to_ms, folder):
        for name, statement in VIEWS.items():
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {statement}")
        yield
        for name in VIEWS:
            cursor.execute(f"DROP VIEW temp.{name}")
