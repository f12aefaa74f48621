"""Sealed rows whose holder was told after they were sealed: the merge of their day gives them to their run.

A row came in as nobody's where its node knew no holder: a poll of the queue told it later, or accounting told that the
run began before its first process. While rows are hot, store/claims.py gives those of polls to their runs. Here the
same is done for a day of files, from what is known by then, whatever the order in which it came: rows that were given
to a run are given anew. Where two runs could have a row, or runs share the GPU, it stays nobody's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from store import dirty
from store.columns import MAX_SPAN_MS
from store.database import Cursor
from store.evidence import POLL
from store.manifest import DAY_MS

# A hold of a GPU lasts at most until the next one of it begins. Rows end in (start_ms, until_ms].
_HOLDS: Final = f"""
WITH candidate AS (
    SELECT gpu_key, min(start_ms) AS start_ms FROM allocation
    WHERE gpu_key <> 0 AND start_ms < $to_ms AND (end_ms IS NULL OR end_ms > $from_ms - {MAX_SPAN_MS})
    GROUP BY gpu_key),
following AS (
    SELECT a.*, count(*) OVER (PARTITION BY a.gpu_key, a.start_ms) AS same, min(a.start_ms) OVER (
        PARTITION BY a.gpu_key ORDER BY a.start_ms RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next_ms
    FROM allocation a JOIN candidate c ON c.gpu_key = a.gpu_key AND a.start_ms >= c.start_ms)
SELECT f.run_key, f.gpu_key, f.start_ms, f.end_ms, coalesce(f.next_ms, {2**62}) AS until_ms, f.source = $poll AS polled
FROM following f JOIN run r USING (run_key) WHERE f.same = 1 AND NOT r.shared AND r.kind = 'job'
    AND f.start_ms < $to_ms AND (f.end_ms IS NULL OR f.end_ms > $from_ms - {MAX_SPAN_MS})"""  # noqa: S608 - constants

# Rows given to a run before, which its node has not told by now.
_GIVEN: Final = """
SELECT c.run_key, c.gpu_key, a.start_ms, a.end_ms
FROM claim c LEFT JOIN allocation a ON a.run_key = c.run_key AND a.gpu_key = c.gpu_key AND a.source <> $poll"""

# A poll tells of the moment and a node may have been asked in between: a row that overlaps is the run's, as in
# store/claims.py. Of a hold that its node tells, only rows that lie inside: at its ends the node knew better.
_SOURCE: Final = """
SELECT s.*, s.run_key AS old_key, CASE
    WHEN s.run_key IS NULL OR (g.run_key IS NOT NULL AND NOT coalesce(
        s.ts_ms > g.start_ms AND (g.end_ms IS NULL OR s.ts_ms - s.span_ms < g.end_ms), false)) THEN h.run_key
    ELSE s.run_key END AS new_key
FROM ({}) s LEFT JOIN given g ON g.run_key = s.run_key AND g.gpu_key = s.gpu_key
    LEFT JOIN hold h ON h.gpu_key = s.gpu_key AND s.ts_ms > h.start_ms AND s.ts_ms <= h.until_ms AND CASE
        WHEN h.polled THEN h.end_ms IS NULL OR s.ts_ms - s.span_ms < h.end_ms
        ELSE s.ts_ms - s.span_ms >= h.start_ms AND (h.end_ms IS NULL OR s.ts_ms <= h.end_ms) END"""

_FREE: Final = """
SELECT * FROM ({}) WHERE run_key IS NULL OR (run_key, gpu_key) IN (SELECT (run_key, gpu_key) FROM given)"""

_CHANGED: Final = """
SELECT node_key, gpu_key, old_key, new_key, min(ts_ms - span_ms)::BIGINT AS from_ms, max(ts_ms)::BIGINT AS to_ms
FROM ({}) WHERE old_key IS DISTINCT FROM new_key GROUP BY ALL ORDER BY ALL"""


class Repaired(msgspec.Struct, frozen=True):
    """Rows of a GPU that get another run, or none (None), and the time they stand for."""

    node_key: int
    gpu_key: int
    old_key: int | None
    new_key: int | None
    from_ms: int
    to_ms: int


@contextmanager
def repairing(cursor: Cursor, source: str, day: int) -> Iterator[tuple[str, list[Repaired]]]:
    """Yields a SELECT of the rows of ``source`` with their runs as they are known now, and what changes by it.

    Where nothing changes that is ``source`` itself. Readable inside the block.
    """
    times = {"from_ms": day * DAY_MS, "to_ms": (day + 1) * DAY_MS, "poll": POLL}
    holds, given = cursor.arrow(_HOLDS, times), cursor.arrow(_GIVEN, {"poll": POLL})
    with cursor.table("hold", holds), cursor.table("given", given):
        changed = []
        if holds.num_rows or given.num_rows:
            changed = cursor.rows(_CHANGED.format(_SOURCE.format(_FREE.format(source))), None, Repaired)
        if changed:
            known = f"SELECT * EXCLUDE (run_key, old_key, new_key), new_key AS run_key FROM ({_SOURCE})"  # noqa: S608
            source = known.format(source)
        yield source, changed


def follow(cursor: Cursor, changed: list[Repaired]) -> None:
    """Marks the hours and runs of rows that got another run, and whose they are. Call it inside a transaction."""
    cursor.execute("SELECT nextval('generations')")
    dirty.mark_rows(cursor, [(each.node_key, each.from_ms, each.to_ms) for each in changed])
    from_ms: dict[int, int] = {}
    for each in changed:
        for run_key in (each.old_key, each.new_key):
            if run_key is not None:
                from_ms[run_key] = min(each.from_ms, from_ms.get(run_key, each.from_ms))
    dirty.mark_runs(cursor, from_ms)
    for each in changed:
        if each.new_key is not None:
            cursor.execute("INSERT OR IGNORE INTO claim VALUES ($1, $2)", [each.new_key, each.gpu_key])


def sealed(cursor: Cursor, day: int, gen: int) -> None:
    """Marks a day that got a file, so that its rows are looked at once. Call it inside a transaction."""
    cursor.execute("INSERT OR IGNORE INTO repair_day VALUES ($1, $2)", [day, gen])


def due(cursor: Cursor, day: int) -> int | None:
    """Returns the generation of the mark on a day of which holds changed; None where there is none."""
    found = cursor.scalar("SELECT gen FROM repair_day WHERE day = $1", [day])
    return None if found is None else int(found)


def done(cursor: Cursor, day: int, gen: int | None) -> None:
    """Takes a mark away unless a later change set it anew. Call it inside a transaction."""
    cursor.execute("DELETE FROM repair_day WHERE day = $1 AND gen = $2", [day, gen])
