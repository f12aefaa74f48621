"""What runs hold in the time that is computed: from allocations alone, cut at suspensions and by who comes next."""

from typing import Final

from store.database import Cursor
from store.schema import UNPLACED

MINUTE_MS: Final = 60_000

_STRETCHES: Final = f"""
CREATE OR REPLACE TEMP TABLE stretch AS
WITH candidate AS (
    SELECT * FROM allocation
    WHERE start_ms < $high AND (end_ms IS NULL OR end_ms > $low) AND node_key IN (SELECT node_key FROM work)),
-- Allocations of one GPU never exceed one: an allocation ends at the latest where the next one begins. That also ends
-- what nobody saw end, its node having died. Shared GPUs (shards, MPS) have several holders by intent.
following AS (
    SELECT a.run_key, a.gpu_key, CASE WHEN NOT r.shared THEN
        lead(a.start_ms) OVER (PARTITION BY a.gpu_key ORDER BY a.start_ms, r.job_id_raw, r.restart) END AS next_ms
    FROM allocation a JOIN run r USING (run_key)
    WHERE a.start_ms >= (SELECT min(start_ms) FROM candidate) AND a.start_ms < $high
        AND a.gpu_key IN (SELECT gpu_key FROM candidate)),
whole AS (
    SELECT c.run_key, c.gpu_key, c.node_key, c.start_ms,
        least(coalesce(c.end_ms, $as_of), f.next_ms) AS end_ms, 1 AS gpus
    FROM candidate c JOIN following f USING (run_key, gpu_key)),
unplaced AS (
    SELECT r.run_key, r.start_ms, coalesce(r.end_ms, $as_of) AS end_ms, r.alloc_gpus - count(a.gpu_key) AS gpus
    FROM run r LEFT JOIN allocation a USING (run_key)
    WHERE r.alloc_gpus > 0 AND r.start_ms < $high AND coalesce(r.end_ms, $as_of) > $low
        AND EXISTS (FROM work WHERE node_key = {UNPLACED})
    GROUP BY r.run_key, r.start_ms, r.end_ms, r.alloc_gpus HAVING r.alloc_gpus > count(a.gpu_key)),
holding AS (
    FROM whole
    UNION ALL BY NAME
    SELECT run_key, {UNPLACED} AS gpu_key, {UNPLACED} AS node_key, start_ms, end_ms, gpus FROM unplaced),
suspended AS (
    SELECT h.run_key, h.gpu_key, h.node_key, h.gpus, greatest(s.start_ms, h.start_ms) AS start_ms,
        least(coalesce(s.end_ms, h.end_ms), h.end_ms) AS end_ms
    FROM holding h JOIN suspension s USING (run_key)
    WHERE s.start_ms < h.end_ms AND coalesce(s.end_ms, h.end_ms) > greatest(s.start_ms, h.start_ms)),
-- What suspensions leave of a hold: from its start, and from the end of each, to where the next one begins.
held AS MATERIALIZED (
    SELECT * FROM (
        SELECT run_key, gpu_key, node_key, gpus, from_ms AS start_ms, coalesce(
            lead(cut_ms) OVER (PARTITION BY run_key, gpu_key ORDER BY cut_ms NULLS FIRST), hold_end_ms) AS end_ms
        FROM (
            SELECT run_key, gpu_key, node_key, gpus, NULL::BIGINT AS cut_ms, start_ms AS from_ms, end_ms AS hold_end_ms
            FROM holding
            UNION ALL
            SELECT s.run_key, s.gpu_key, s.node_key, s.gpus, s.start_ms, s.end_ms, h.end_ms
            FROM suspended s JOIN holding h USING (run_key, gpu_key)))
    WHERE end_ms > start_ms)
SELECT *, FALSE AS suspended FROM held UNION ALL BY NAME SELECT *, TRUE AS suspended FROM suspended"""  # noqa: S608 - constants

_MINUTES: Final = f"""
CREATE OR REPLACE TEMP TABLE held_minute AS
WITH in_hour AS (
    SELECT h.run_key, h.gpu_key, h.node_key, h.gpus, h.suspended, greatest(h.start_ms, w.from_ms) AS start_ms,
        least(h.end_ms, w.to_ms) AS end_ms
    FROM stretch h JOIN work w USING (node_key) WHERE h.start_ms < w.to_ms AND h.end_ms > w.from_ms)
    SELECT minute * {MINUTE_MS} AS minute_ms, node_key, gpu_key, run_key,
        coalesce(sum(ms) FILTER (NOT suspended), 0)::BIGINT AS held_ms,
        sum(ms) FILTER (suspended)::BIGINT AS suspended_ms
    FROM (
        SELECT *, gpus * (least(end_ms, (minute + 1) * {MINUTE_MS}) - greatest(start_ms, minute * {MINUTE_MS})) AS ms
        FROM (SELECT *, unnest(range(start_ms // {MINUTE_MS}, (end_ms - 1) // {MINUTE_MS} + 1)) AS minute FROM in_hour))
    GROUP BY ALL"""  # noqa: S608 - constants


def compute(cursor: Cursor, low_ms: int, high_ms: int, as_of_ms: int) -> None:
    """Makes what the nodes of the table ``work`` held in [low_ms, high_ms).

    Table ``stretch`` (run_key, gpu_key, node_key, gpus, start_ms, end_ms, suspended) has holds with what suspensions
    leave of them, and the suspensions; ``held_minute`` (minute_ms, node_key, gpu_key, run_key, held_ms, suspended_ms)
    the sums of those in the work.
    """
    cursor.execute(_STRETCHES, {"low": low_ms, "high": high_ms, "as_of": as_of_ms})
    cursor.execute(_MINUTES)
