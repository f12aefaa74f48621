"""Hours of GPUs and runs from their minutes: what was, less the minutes that are gone, plus those that came.

Sums are integers, so that is exact and costs what changed, not the whole hour once a minute. A maximum cannot be taken
back: where a minute is gone that may have held it, the hour is added up from all its minutes.
"""

from typing import Final

from store.catalog import METRICS, Kind, Metric
from store.columns import HOUR_MS
from store.database import Cursor
from store.schema_gpus import rollup_columns

_TIMES: Final = (
    *("rows", "held_ms", "suspended_ms", "covered_ms", "active_ms", "low_ms", "idle_held_ms", "idle_ms", "unknown_ms"),
    *("unmeasurable_ms", "stray_ms", "parked_ms"),
)
_KEYS: Final = "node_key, gpu_key, run_key"


def _columns(metric: Metric) -> list[str]:
    return [column.split()[0] for column in rollup_columns(metric)]


_SUMS: Final = (
    *_TIMES,
    *(name for metric in METRICS for name in _columns(metric) if name.endswith(("_sum", "_ms"))),
)
_NAMES: Final = ", ".join((*_TIMES, *(name for metric in METRICS for name in _columns(metric))))
COLUMNS: Final = f"{_KEYS}, {_NAMES}"
"""Columns of minutes and hours but for their time: in the file of an earlier catalogue they stand in another order."""


def _again(name: str) -> str:
    """Returns the aggregate of a column over rows of a rollup."""
    if name in _SUMS:
        return f"sum({name})::BIGINT AS {name}"
    return f"{'bit_or' if name.endswith('_seen') else 'max'}({name}) AS {name}"


_AGGREGATES: Final = ", ".join(_again(name) for name in _NAMES.split(", "))
_LESS: Final = ", ".join(f"-({name}::BIGINT) AS {name}" for name in _SUMS)


def _lost(metric: Metric) -> str:
    """Returns a condition: what minute ``g`` had of a metric and minute ``m`` has not may have been the hour's own."""
    name = metric.name
    match metric.kind:
        case Kind.DELTA:
            return f"g.{name}_sum IS NOT NULL AND m.{name}_sum IS NULL"
        case Kind.GAUGE | Kind.COUNT:
            return f"g.{name}_max IS NOT NULL AND coalesce(m.{name}_max < g.{name}_max, TRUE)"
        case Kind.FLAGS:
            return f"g.{name}_seen IS NOT NULL AND coalesce(m.{name}_seen & g.{name}_seen <> g.{name}_seen, TRUE)"


# $low and $high bound all work, so that most of the table is passed over by its statistics.
_IN_WORK: Final = """m.minute_ms >= $low AND m.minute_ms < $high AND m.node_key = w.node_key
    AND m.minute_ms >= w.from_ms AND m.minute_ms < w.to_ms"""
_WHOLE: Final = f"to_ms - from_ms >= {HOUR_MS}"
_OF_WORK: Final = "h.hour_ms = w.hour_ms AND h.node_key = w.node_key"

_GONE: Final = (
    f"""CREATE OR REPLACE TEMP TABLE gone_minute AS
        SELECT m.* FROM gpu_minute m JOIN (FROM work WHERE NOT ({_WHOLE})) w ON {_IN_WORK}""",  # noqa: S608 - constants
    f"DELETE FROM gpu_minute m USING work w WHERE {_IN_WORK}",  # noqa: S608
)
_GONE_HOURS: Final = (
    f"""CREATE OR REPLACE TEMP TABLE gone_hour AS
        SELECT h.* FROM gpu_hour h JOIN (FROM work WHERE NOT ({_WHOLE})) w ON {_OF_WORK}""",  # noqa: S608 - constants
    f"DELETE FROM gpu_hour h USING work w WHERE {_OF_WORK}",  # noqa: S608 - constants
)

_NEW: Final = f"CREATE OR REPLACE TEMP TABLE new_minute AS SELECT m.* FROM gpu_minute m JOIN work w ON {_IN_WORK}"  # noqa: S608
_ANEW: Final = f"""
    CREATE OR REPLACE TEMP TABLE hour_anew AS
    SELECT hour_ms, node_key FROM work WHERE {_WHOLE}
    UNION
    SELECT g.minute_ms // {HOUR_MS} * {HOUR_MS}, g.node_key
    FROM gone_minute g LEFT JOIN new_minute m ON m.minute_ms = g.minute_ms AND m.gpu_key = g.gpu_key
        AND m.node_key = g.node_key AND m.run_key IS NOT DISTINCT FROM g.run_key
    WHERE m.minute_ms IS NULL OR (g.suspended_ms IS NOT NULL AND m.suspended_ms IS NULL)
        OR {" OR ".join(f"({_lost(metric)})" for metric in METRICS)}"""  # noqa: S608 - names of columns

_HOURS: Final = f"""
    INSERT INTO gpu_hour BY NAME
    SELECT hour_ms, {_KEYS}, {_AGGREGATES}
    FROM (
        SELECT h.* FROM gone_hour h ANTI JOIN hour_anew USING (hour_ms, node_key)
        UNION ALL BY NAME
        SELECT minute_ms // {HOUR_MS} * {HOUR_MS} AS hour_ms, {_KEYS}, {_NAMES} FROM new_minute
        WHERE (minute_ms // {HOUR_MS} * {HOUR_MS}, node_key) NOT IN (SELECT (hour_ms, node_key) FROM hour_anew)
        UNION ALL BY NAME
        SELECT minute_ms // {HOUR_MS} * {HOUR_MS} AS hour_ms, {_KEYS}, {_LESS} FROM gone_minute
        WHERE (minute_ms // {HOUR_MS} * {HOUR_MS}, node_key) NOT IN (SELECT (hour_ms, node_key) FROM hour_anew)
        UNION ALL BY NAME
        SELECT minute_ms // {HOUR_MS} * {HOUR_MS} AS hour_ms, {_KEYS}, {_NAMES}
        FROM gpu_minute WHERE minute_ms >= $low // {HOUR_MS} * {HOUR_MS} AND minute_ms < $high + {HOUR_MS}
            AND (minute_ms // {HOUR_MS} * {HOUR_MS}, node_key) IN (SELECT (hour_ms, node_key) FROM hour_anew))
    GROUP BY hour_ms, {_KEYS}"""  # noqa: S608 - names of columns


def set_aside(cursor: Cursor, low_ms: int, high_ms: int) -> None:
    """Takes the minutes and hours of the table ``work`` out of the rollups; they lie in [low_ms, high_ms)."""
    for statement in _GONE:
        cursor.execute(statement, {"low": low_ms, "high": high_ms})
    for statement in _GONE_HOURS:
        cursor.execute(statement)


def recompute(cursor: Cursor, low_ms: int, high_ms: int) -> None:
    """Makes the hours of the table ``work`` once its minutes are there."""
    times = {"low": low_ms, "high": high_ms}
    cursor.execute(_NEW, times)
    cursor.execute(_ANEW)
    cursor.execute(_HOURS, times)
