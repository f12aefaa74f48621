"""Hours and minutes of every GPU and run, recomputed from raw rows and allocations wherever they are marked dirty.

The result depends only on the data, not on the order in which it came: a row counts from the later of its own start and
the GPU's row before it, inside its allocation; held time comes from allocations alone; sums are integers.
"""

from typing import Final

import msgspec

from store import holds, hours, minutes, spare, sums
from store.catalog import METRICS
from store.columns import HOUR_MS, MAX_SPAN_MS
from store.database import Cursor, Database
from store.dirty import as_of_ms, mark_all, mark_open
from store.holders import keep_classes
from store.parts import Parts
from store.reduction import STATES, by_minute
from store.samples import kept_from_ms, samples
from store.schema_gpus import rollup_columns
from store.settings import StateSettings
from store.states import parked_sql, state_sql

MINUTE_MS: Final = 60_000
HOLD_WAIT_MS: Final = 90_000
"""How far a running hub lets holds lag behind on nodes that send nothing: longer than from one segment to the next."""
ROWS_AT_ONCE: Final = 1_000_000
"""Raw rows, about, that are worked in at once: some 400 MB."""
# Of one hour what waits longest comes first: nodes that send all the time must not keep others from their turn.
_WORK: Final = f"""
    CREATE OR REPLACE TEMP TABLE work AS
    SELECT hour_ms, node_key, gen, from_ms // {MINUTE_MS} * {MINUTE_MS} AS from_ms,
        (to_ms + {MINUTE_MS} - 1) // {MINUTE_MS} * {MINUTE_MS} AS to_ms
    FROM dirty_hour ORDER BY hour_ms DESC, from_ms, node_key LIMIT $limit"""  # noqa: S608 - constants
_AT_ONCE: Final = f"""
    SELECT count(*) FROM (
        SELECT coalesce(sum((w.to_ms - w.from_ms) * g.gpus // greatest(n.interval_ms, 1)) OVER (
            ORDER BY w.hour_ms DESC, w.from_ms, w.node_key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS rows
        FROM work w LEFT JOIN node n USING (node_key)
            LEFT JOIN (SELECT node_key, count(*) AS gpus FROM gpu GROUP BY node_key) g USING (node_key))
    WHERE rows < {ROWS_AT_ONCE}"""  # noqa: S608 - a constant
_FEW: Final = 16  # hours of a node, so many can always be worked in at once


def roll_up(
    database: Database,
    limit: int = 4096,
    settings: StateSettings | None = None,
    zone: str | None = None,
    wait_ms: int = 0,
) -> int:
    """Recomputes at most ``limit`` dirty (hour, node), the newest first, in one transaction; returns how many it took.

    Call it until it returns 0. Marks set anew while it worked stay. With other thresholds than last time everything is
    computed anew, newest first, and with another ``zone`` of the site all days; None takes that of last time. Where
    nothing but a hold goes on, it may lag behind the newest data by ``wait_ms``.
    """
    settings = settings or StateSettings()
    with database.cursor() as cursor, cursor.transaction():
        _follow_thresholds(cursor, settings)
        zone = sums.follow_zone(cursor, zone)
        keep_classes(cursor)
        mark_open(cursor, wait_ms)
        # What has no raw rows any more stays as it was computed.
        cursor.execute("DELETE FROM dirty_hour WHERE hour_ms < $1", [kept_from_ms(cursor)])
        taken = _take(cursor, limit)
        if taken:
            _recompute(cursor, settings)
            cursor.execute(
                "DELETE FROM dirty_hour USING work w WHERE dirty_hour.hour_ms = w.hour_ms "
                "AND dirty_hour.node_key = w.node_key AND dirty_hour.gen = w.gen"
            )
        return taken + sums.recompute(cursor, zone, limit)


def _take(cursor: Cursor, limit: int) -> int:
    """Puts what comes first into the table ``work``, as much as is worked in at once; returns how many (hour, node)."""
    taken = cursor.execute(_WORK, {"limit": limit})
    if taken <= _FEW:
        return taken
    few = int(cursor.scalar(_AT_ONCE))
    return taken if few == taken else cursor.execute(_WORK, {"limit": few})


def _follow_thresholds(cursor: Cursor, settings: StateSettings) -> None:
    wanted = msgspec.json.encode(settings).decode()
    known = cursor.scalar("SELECT value FROM meta WHERE key = 'states'")
    if known == wanted:
        return
    if known is not None:
        mark_all(cursor)
    cursor.execute("INSERT OR REPLACE INTO meta VALUES ('states', $1)", [wanted])


def _recompute(cursor: Cursor, settings: StateSettings) -> None:
    work = cursor.arrow("SELECT * FROM work")
    [(low, high)] = cursor.tuples("SELECT min(from_ms), max(to_ms) FROM work")
    minutes.thaw(cursor)
    hours.set_aside(cursor, low, high)
    as_of = as_of_ms(cursor)
    holds.compute(cursor, low, high, as_of)
    with samples(cursor, low, high + MAX_SPAN_MS):
        rows = cursor.arrow(_rows_sql(settings), {"low": low, "high": high})
    held = cursor.arrow("SELECT run_key, gpu_key, start_ms, end_ms FROM stretch WHERE NOT suspended")
    with cursor.table("summed", by_minute(Parts(rows, held, work))):
        cursor.execute(_minutes_sql())
    spare.recompute(cursor, low, high, as_of)
    hours.recompute(cursor, low, high)


def _rows_sql(settings: StateSettings) -> str:
    """Returns the query of the rows that cover the work, in any order, with what reduction.by_minute reads."""
    metrics = ", ".join(f"s.{metric.name}" for metric in METRICS)
    codes = " ".join(f"WHEN '{name}' THEN {code}" for code, name in enumerate(STATES))
    return f"""
    -- The rows that cover the work's minutes end in the same hour or, by a span, in the next one.
    WITH near AS (
        SELECT hour, node_key, min(after_ms) AS after_ms, max(to_ms) AS to_ms
        FROM (
            SELECT hour_ms // {HOUR_MS} AS hour, node_key, from_ms AS after_ms, to_ms + {MAX_SPAN_MS} AS to_ms FROM work
            UNION ALL
            SELECT hour_ms // {HOUR_MS} + 1, node_key, hour_ms + {HOUR_MS}, to_ms + {MAX_SPAN_MS} FROM work)
        GROUP BY hour, node_key),
    blind AS (
        SELECT gpu_key, min(from_ms) AS from_ms, max(to_ms) AS to_ms FROM null_reason
        WHERE metric = 'util_pct' AND reason = 'not_supported' GROUP BY gpu_key)
    SELECT s.ts_ms, s.span_ms, s.node_key, s.gpu_key, s.run_key,
        (CASE {state_sql(settings)} {codes} END)::TINYINT AS state, coalesce({parked_sql(settings)}, false) AS parked,
        coalesce(s.ts_ms > b.from_ms AND s.ts_ms <= b.to_ms, false) AS blind, {metrics}
    FROM samples s JOIN near n ON n.node_key = s.node_key AND n.hour = (s.ts_ms - 1) // {HOUR_MS}
        JOIN gpu g ON g.gpu_key = s.gpu_key LEFT JOIN blind b ON b.gpu_key = s.gpu_key
    WHERE s.ts_ms > $low AND s.ts_ms <= $high + {MAX_SPAN_MS} AND s.ts_ms > n.after_ms AND s.ts_ms <= n.to_ms
        AND s.span_ms > 0"""  # noqa: S608 - constants and validated numbers


def _minutes_sql() -> str:
    names = ", ".join(f"s.{column.split()[0]}" for metric in METRICS for column in rollup_columns(metric))
    states = ", ".join(f"coalesce(s.{state}_ms, 0)" for state in STATES[1:])
    measured = " + ".join(f"coalesce(s.{state}_ms, 0)" for state in STATES[1:])
    return f"""
    INSERT INTO gpu_minute (minute_ms, {hours.COLUMNS})
    WITH taken AS (
        SELECT minute_ms, gpu_key, sum(held_ms + coalesce(suspended_ms, 0))::BIGINT AS ms
        FROM held_minute GROUP BY minute_ms, gpu_key)
    SELECT h.minute_ms, h.node_key, h.gpu_key, h.run_key, coalesce(s.rows, 0), h.held_ms, h.suspended_ms,
        coalesce(s.covered_ms, 0), {states}, h.held_ms - ({measured}), coalesce(s.unmeasurable_ms, 0), 0,
        coalesce(s.parked_ms, 0), {names}
    FROM held_minute h LEFT JOIN summed s USING (minute_ms, node_key, gpu_key, run_key)
    UNION ALL
    SELECT s.minute_ms, s.node_key, s.gpu_key, NULL, s.rows, 0, NULL, s.covered_ms, 0, 0, 0, 0, 0, 0,
        -- Work in a minute that is partly held may be the holder's own, before the node knew of it: at most the rest
        -- of the minute is stray. On a host without Slurm nothing is.
        CASE WHEN n.slurm THEN
            least(s.active_ms + s.low_ms + s.idle_held_ms, greatest({MINUTE_MS} - coalesce(t.ms, 0), 0)) ELSE 0 END,
        0, {names}
    FROM summed s JOIN node n USING (node_key) LEFT JOIN taken t USING (minute_ms, gpu_key) WHERE s.run_key IS NULL
    """  # noqa: S608 - names of columns
