"""Rows of GPUs that are a run's by a poll alone: their node knew no holder, so they came in as nobody's."""

from collections.abc import Iterable, Sequence
from typing import Final

from store.database import Cursor
from store.evidence import POLL
from store.runbook import Entry

# A row that changes gets the generation of the batch that changes it: sealing leaves it alone then (store/seal.py).
# Where one hold of a GPU is known to follow another, the earlier one has ended.
_CLAIM: Final = """
UPDATE hot SET run_key = a.run_key, gen = currval('generations') FROM allocation a
WHERE a.source = $poll AND a.gpu_key = hot.gpu_key AND hot.run_key IS NULL AND hot.ts_ms > $from AND hot.ts_ms <= $to
    AND hot.ts_ms > a.start_ms AND (a.end_ms IS NULL OR hot.ts_ms - hot.span_ms < a.end_ms)
    AND NOT EXISTS (
        FROM allocation b WHERE b.gpu_key = a.gpu_key AND b.start_ms > a.start_ms AND b.start_ms < hot.ts_ms)
RETURNING hot.run_key, hot.gpu_key"""

# Rows that were given to a run are taken back where only polls tell its hold, to be given anew, and where its node
# tells it by now, outside of it.
_RELEASE: Final = """
UPDATE hot SET run_key = NULL, gen = currval('generations')
WHERE ts_ms > $from AND gpu_key IN (SELECT unnest($gpus::INTEGER[]))
    AND (run_key, gpu_key) IN (SELECT (run_key, gpu_key) FROM claim)
    AND NOT EXISTS (
        FROM allocation a WHERE a.run_key = hot.run_key AND a.gpu_key = hot.gpu_key AND a.source <> $poll
            AND hot.ts_ms > a.start_ms AND (a.end_ms IS NULL OR hot.ts_ms - hot.span_ms < a.end_ms))"""


def claim(cursor: Cursor, stretches: Sequence[tuple[int, int]], touched: Iterable[Entry], to_ms: int) -> set[int]:
    """Gives rows to the runs that hold their GPUs by a poll alone; returns the keys of these runs.

    Where a hold of such a GPU is another than before the batch, its rows are given anew.

    Args:
        cursor: in the transaction of the batch.
        stretches: start and end of the times from which rows came in.
        touched: the entries that the batch spoke of.
        to_ms: as far as the data reaches.
    """
    moved = _moved(touched, to_ms)
    claimed = {gpu for (gpu,) in cursor.tuples("SELECT DISTINCT gpu_key FROM claim")}
    by_poll = {gpu for (gpu,) in cursor.tuples("SELECT DISTINCT gpu_key FROM allocation WHERE source = $1", [POLL])}
    again = {gpu: start_ms for gpu, start_ms in moved.items() if gpu in claimed or gpu in by_poll}
    if again:
        from_ms = min(again.values())
        cursor.execute(_RELEASE, {"from": from_ms, "gpus": sorted(again), "poll": POLL})
        stretches = [*stretches, (from_ms, to_ms)]
    if not stretches or not by_poll:
        return set()
    times = {"from": min(start for start, _ in stretches), "to": max(end for _, end in stretches)}
    given = set(cursor.tuples(_CLAIM, {"poll": POLL, **times}))
    for run_key, gpu_key in given:
        cursor.execute("INSERT OR IGNORE INTO claim VALUES ($1, $2)", [run_key, gpu_key])
    return {run_key for run_key, _ in given}


def rename(cursor: Cursor, old: int, new: int) -> None:
    """Follows two runs that turn out to be one."""
    cursor.execute("INSERT OR IGNORE INTO claim SELECT $2, gpu_key FROM claim WHERE run_key = $1", [old, new])
    cursor.execute("DELETE FROM claim WHERE run_key = $1", [old])


def _moved(touched: Iterable[Entry], to_ms: int) -> dict[int, int]:
    """Returns by gpu_key the earliest start of a hold that is or was another."""
    moved: dict[int, int] = {}
    for entry in touched:
        before, now = (entry.before[1] if entry.before else {}), entry.allocations
        for gpu in before.keys() | now.keys():
            old, new = before.get(gpu), now.get(gpu)
            if old != new:
                moved[gpu] = min(moved.get(gpu, to_ms), *(one.start_ms for one in (old, new) if one is not None))
    return moved
