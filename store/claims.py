"""Rows of GPUs that are a run's by a poll alone: their node knew no holder, so they came in as nobody's."""

from collections.abc import Iterable
from typing import Final

from store.database import Cursor
from store.evidence import POLL
from store.runbook import Entry

# Where one hold of a GPU is known to follow another, the earlier one has ended.
_CLAIM: Final = """
UPDATE hot SET run_key = a.run_key FROM allocation a
WHERE a.source = $poll AND a.gpu_key = hot.gpu_key AND hot.run_key IS NULL AND hot.ts_ms > $from AND hot.ts_ms <= $to
    AND hot.ts_ms > a.start_ms AND (a.end_ms IS NULL OR hot.ts_ms - hot.span_ms < a.end_ms)
    AND NOT EXISTS (
        FROM allocation b WHERE b.gpu_key = a.gpu_key AND b.start_ms > a.start_ms AND b.start_ms < hot.ts_ms)
RETURNING hot.run_key"""


def claim(cursor: Cursor, stretches: Iterable[tuple[int, int]], changed: Iterable[Entry], to_ms: int) -> set[int]:
    """Gives rows to the runs that hold their GPUs by a poll alone; returns the keys of these runs.

    Args:
        cursor: in the transaction of the batch.
        stretches: start and end of the times from which rows came in.
        changed: the entries that the batch spoke of.
        to_ms: as far as the data reaches.
    """
    fresh = [
        (held.start_ms, to_ms if held.end_ms is None else held.end_ms)
        for entry in changed
        for held in entry.allocations.values()
        if held.source == POLL and entry.is_changed
    ]
    spans = [*stretches, *fresh]
    if not spans or not cursor.scalar("SELECT count(*) FROM allocation WHERE source = $1", [POLL]):
        return set()
    times = {"from": min(start for start, _ in spans), "to": max(end for _, end in spans)}
    return {run_key for (run_key,) in cursor.tuples(_CLAIM, {"poll": POLL, **times})}
