"""Compute processes: table ``process``, one row for each life of a process on a GPU within one run.

Each segment tells of a process anew, from its first to its last sight in it; what lies near enough is one life, in
whatever order it comes. The table is bounded: so many lives a GPU and run, the oldest beyond them only counted, and
none that ended long before the newest data.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from store.columns import from_tuples
from store.database import Cursor
from store.segment import Segment

Told = tuple[Segment, Sequence[int], Sequence[int]]
"""A segment, gpu_key by position in its list of devices, run_key by position in its list of holdings."""

MOST: Final = 256
"""Lives on one GPU in one run that are kept one by one."""
GAP_MS: Final = 600_000
"""A PID that is seen again within this time is the same process: the agent was away meanwhile, or a segment is late."""
KEPT_MS: Final = 366 * 86_400_000
MOST_NAME: Final = 64

_PROCESS: Final = pa.schema(
    {
        "gpu_key": pa.int32(), "run_key": pa.int32(), "pid": pa.int64(), "name": pa.string(), "uid": pa.int64(),
        "first_ms": pa.int64(), "last_ms": pa.int64(), "mem_max_mib": pa.int64(), "processes": pa.int64(),
    }
)  # fmt: skip

# PID 0 is no process: it stands for those that are only counted. Each segment counts its own, so the most that one
# counted is what is sure.
_LIVES: Final = f"""
WITH told AS (
    SELECT * FROM batch_process
    UNION ALL BY NAME
    SELECT p.* FROM process p SEMI JOIN batch_process b
        ON p.gpu_key = b.gpu_key AND p.run_key IS NOT DISTINCT FROM b.run_key),
spaced AS (
    SELECT *, pid <> 0 AND coalesce(first_ms - max(last_ms) OVER (
        PARTITION BY gpu_key, run_key, pid ORDER BY first_ms, last_ms
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) > {GAP_MS}, FALSE) AS apart FROM told),
numbered AS (
    SELECT *, sum(apart::INTEGER) OVER (
        PARTITION BY gpu_key, run_key, pid ORDER BY first_ms, last_ms ROWS UNBOUNDED PRECEDING) AS life FROM spaced),
lived AS (
    -- A program may give itself another name: of several the same one is taken in whatever order they come.
    SELECT gpu_key, run_key, pid, max(name) AS name, max(uid) AS uid, min(first_ms) AS first_ms,
        max(last_ms) AS last_ms, max(mem_max_mib) AS mem_max_mib, max(processes) AS processes
    FROM numbered GROUP BY gpu_key, run_key, pid, life),
placed AS (
    SELECT *, pid <> 0 AND row_number() OVER (
        PARTITION BY gpu_key, run_key, pid = 0 ORDER BY last_ms DESC, first_ms DESC, pid) <= {MOST} AS kept FROM lived)
SELECT * EXCLUDE (kept) FROM placed WHERE kept
UNION ALL BY NAME
SELECT gpu_key, run_key, 0 AS pid, '' AS name, min(first_ms) AS first_ms, max(last_ms) AS last_ms,
    max(mem_max_mib) AS mem_max_mib, sum(processes)::BIGINT AS processes
FROM placed WHERE NOT kept GROUP BY gpu_key, run_key"""  # noqa: S608 - constants

_REPLACED: Final = """
DELETE FROM process USING batch_process b
WHERE process.gpu_key = b.gpu_key AND process.run_key IS NOT DISTINCT FROM b.run_key"""


def keep(cursor: Cursor, segments: Sequence[Told]) -> None:
    """Works the processes of all segments in."""
    rows = [
        (
            *(gpus[seen.device], None if seen.holding is None else runs[seen.holding], seen.pid),
            *(seen.name[:MOST_NAME], seen.uid, seen.from_ms, seen.to_ms, seen.mem_max_mib, seen.count),
        )
        for segment, gpus, runs in segments
        for seen in segment.processes
    ]
    if not rows:
        return
    with cursor.table("batch_process", from_tuples(rows, _PROCESS)):
        lives = cursor.arrow(_LIVES)
        cursor.execute(_REPLACED)
    with cursor.table("lives", lives):
        cursor.execute("INSERT INTO process BY NAME SELECT * FROM lives")
    cursor.execute("DELETE FROM process WHERE last_ms < (SELECT max(last_ms) FROM node) - $1", [KEPT_MS])
