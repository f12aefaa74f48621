"""Time that nobody held a GPU and nobody could have: its node offline, reserved, out of cores, or its job not seen.

Part of the rollup: minutes and hours of whole GPUs, in units of WHOLE x ms. What is held, suspended or stray stays so,
and a drained node with a run is held; of what is left a moment counts as the first kind that applies.
"""

from typing import Final

from store.columns import HOUR_MS
from store.database import Cursor
from store.schema import NODE_WORD_MS, RELEASING_MS, WHOLE

MINUTE_MS: Final = 60_000
KINDS: Final = ("releasing", "offline", "taken", "reserved", "stranded")
"""In the order in which they apply. Releasing: its job has ended and the node has not left COMPLETING. Taken: Slurm
says that jobs have it, and no run is known to (PrivateData=jobs, or a node without hooks): nothing there is free.
Neither is ever called stray."""

STRANDED: Final = """gpus_used < gpus AND (cpus_used >= cpus OR (mem_used_mib > 0 AND mem_used_mib >= mem_mib))"""
"""Of a word about a node: GPUs are left, and no core or no memory for a job on them."""

COMPLETING: Final = "list_contains(string_split(w.flags, ','), 'COMPLETING')"
"""Of a word ``w`` about a node: a job there has ended, and its epilog or its last processes have not."""


def words(nodes: str = "") -> str:
    """Returns a SELECT of the words about nodes that count in [$low, $high), each from at_ms to to_ms.

    ``nodes`` is a join that leaves some of them, of constant text.
    """
    return f"""
    SELECT *, least(coalesce(lead(at_ms) OVER (PARTITION BY cluster, name ORDER BY at_ms), at_ms + {NODE_WORD_MS}),
        at_ms + {NODE_WORD_MS}) AS to_ms
    FROM node_state {nodes} WHERE at_ms > $low - {NODE_WORD_MS} AND at_ms < $high"""  # noqa: S608 - constants


_WHERE_IN_WORK: Final = (
    "s.minute_ms >= $low AND s.minute_ms < $high AND s.node_key = w.node_key "
    "AND s.minute_ms >= w.from_ms AND s.minute_ms < w.to_ms"
)

_PIECES: Final = f"""
    CREATE OR REPLACE TEMP TABLE spare_piece AS
    WITH word AS (
        SELECT n.node_key, s.* FROM ({words()}) AS s JOIN node n ON n.name = s.name AND n.cluster = s.cluster
        WHERE n.node_key IN (SELECT node_key FROM work)),
    held AS (
        SELECT w.node_key, w.at_ms, count(a.gpu_key) AS seen
        FROM word w LEFT JOIN allocation a ON a.node_key = w.node_key AND a.start_ms <= w.at_ms
            AND coalesce(a.end_ms, $as_of) + {RELEASING_MS} > w.at_ms
        WHERE w.gpus_used > 0 GROUP BY ALL),
    root AS (
        SELECT g.gpu_key, g.node_key FROM gpu g LEFT JOIN gpu p ON p.uuid = g.parent_uuid WHERE p.gpu_key IS NULL),
    kind AS (
        SELECT w.node_key, r.gpu_key, w.at_ms, w.to_ms, CASE
            WHEN standing = 'offline' THEN 1 WHEN w.gpus_used > h.seen THEN 2
            WHEN standing = 'reserved' THEN 3 WHEN {STRANDED} THEN 4 END AS kind
        FROM word w JOIN root r USING (node_key) LEFT JOIN held h ON h.node_key = w.node_key AND h.at_ms = w.at_ms
        UNION ALL
        SELECT w.node_key, a.gpu_key, greatest(w.at_ms, a.end_ms), least(w.to_ms, a.end_ms + {RELEASING_MS}), 0
        FROM word w JOIN allocation a ON a.node_key = w.node_key
            AND a.end_ms < w.to_ms AND a.end_ms + {RELEASING_MS} > w.at_ms
            SEMI JOIN root r ON r.gpu_key = a.gpu_key
        WHERE {COMPLETING}),
    stretch AS (
        SELECT k.node_key, gpu_key, kind, greatest(k.at_ms, w.from_ms) AS from_ms,
            least(k.to_ms, w.to_ms, $as_of) AS to_ms
        FROM kind k JOIN work w USING (node_key) WHERE kind IS NOT NULL AND k.at_ms < w.to_ms AND k.to_ms > w.from_ms),
    cut AS (
        SELECT node_key, gpu_key, minute, kind, greatest(from_ms, minute * {MINUTE_MS}) AS from_ms,
            least(to_ms, (minute + 1) * {MINUTE_MS}) AS to_ms
        FROM (SELECT *, unnest(range(from_ms // {MINUTE_MS}, (to_ms - 1) // {MINUTE_MS} + 1)) AS minute
            FROM stretch WHERE to_ms > from_ms))
    -- Releases of one GPU may overlap; a minute has no more of them than it is long.
    SELECT node_key, gpu_key, minute * {MINUTE_MS} AS minute_ms, kind,
        CAST(least(sum(to_ms - from_ms), {MINUTE_MS}) AS BIGINT) AS ms
    FROM cut GROUP BY ALL"""  # noqa: S608 - constants

_NOT_STRAY: Final = """
    UPDATE gpu_minute SET stray_ms = 0 FROM (
        SELECT DISTINCT g.gpu_key, s.minute_ms FROM spare_piece s JOIN gpu p ON p.gpu_key = s.gpu_key
            JOIN gpu g ON g.gpu_key = p.gpu_key OR g.parent_uuid = p.uuid
        WHERE s.kind IN (0, 2)) AS p
    WHERE gpu_minute.run_key IS NULL AND gpu_minute.stray_ms > 0
        AND gpu_minute.minute_ms >= $low AND gpu_minute.minute_ms < $high
        AND gpu_minute.gpu_key = p.gpu_key AND gpu_minute.minute_ms = p.minute_ms"""

# Of a minute's rest each kind gets what it covers and those before it have left: the difference of two minima.
_MINUTES: Final = f"""
    INSERT INTO spare_minute
    WITH root AS (
        SELECT g.gpu_key, coalesce(p.gpu_key, g.gpu_key) AS root_key, g.first_ms,
            CAST(g.slices * {WHOLE} // g.slices_of AS BIGINT) AS weight
        FROM gpu g LEFT JOIN gpu p ON p.uuid = g.parent_uuid),
    used AS (
        SELECT m.minute_ms, r.root_key,
            CAST(sum((m.held_ms + coalesce(m.suspended_ms, 0) + m.stray_ms) * r.weight) AS BIGINT) AS units
        FROM gpu_minute m JOIN root r USING (gpu_key)
        WHERE m.minute_ms >= $low AND m.minute_ms < $high
            AND (m.node_key, m.minute_ms) IN (SELECT (node_key, minute_ms) FROM spare_piece)
        GROUP BY ALL),
    covered AS (
        SELECT *, sum(ms) OVER (PARTITION BY gpu_key, minute_ms ORDER BY kind) AS upto_ms FROM spare_piece),
    part AS (
        SELECT c.minute_ms, c.node_key, c.gpu_key, c.kind, r.weight * c.upto_ms AS upto, r.weight * c.ms AS own,
            greatest(0, r.weight * greatest(0, least({MINUTE_MS}, $as_of - c.minute_ms,
                c.minute_ms + {MINUTE_MS} - r.first_ms)) - coalesce(u.units, 0)) AS rest
        FROM covered c JOIN root r USING (gpu_key)
            LEFT JOIN used u ON u.minute_ms = c.minute_ms AND u.root_key = c.gpu_key)
    SELECT minute_ms, node_key, gpu_key, list_extract($kinds, kind + 1),
        CAST(least(rest, upto) - least(rest, upto - own) AS BIGINT) AS units
    FROM part WHERE least(rest, upto) > least(rest, upto - own)"""  # noqa: S608 - constants

_HOURS: Final = f"""
    INSERT INTO spare_hour
    SELECT minute_ms // {HOUR_MS} * {HOUR_MS} AS hour, node_key, gpu_key, kind, CAST(sum(units) AS BIGINT)
    FROM spare_minute
    WHERE minute_ms >= $low // {HOUR_MS} * {HOUR_MS} AND minute_ms < $high + {HOUR_MS}
        AND (minute_ms // {HOUR_MS} * {HOUR_MS}, node_key) IN (SELECT (hour_ms, node_key) FROM work)
    GROUP BY ALL"""  # noqa: S608 - constants


def recompute(cursor: Cursor, low_ms: int, high_ms: int, as_of_ms: int) -> None:
    """Recomputes the spare time of the table ``work`` from the minutes of GPUs, before these are summed to hours."""
    times = {"low": low_ms, "high": high_ms}
    cursor.execute(f"DELETE FROM spare_minute s USING work w WHERE {_WHERE_IN_WORK}", times)  # noqa: S608 - a constant
    cursor.execute("DELETE FROM spare_hour h USING work w WHERE h.hour_ms = w.hour_ms AND h.node_key = w.node_key")
    if not cursor.scalar("SELECT count(*) FROM node_state"):
        return
    held = {**times, "as_of": as_of_ms}
    cursor.execute(_PIECES, held)
    if cursor.scalar("SELECT count(*) FROM spare_piece"):
        cursor.execute(_NOT_STRAY, times)
        cursor.execute(_MINUTES, {**held, "kinds": list(KINDS)})
    cursor.execute(_HOURS, times)
