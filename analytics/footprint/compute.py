"""Which runs need a footprint now, and how they are worked through."""

from collections.abc import Iterator
from typing import Final

import msgspec

from analytics.footprint.figured import figured
from analytics.footprint.holds import make_holds
from analytics.footprint.per_gpu import WRITE_GPUS
from analytics.footprint.per_run import WRITE_RUNS
from analytics.model import MINUTE_MS
from analytics.settings import FootprintSettings
from store.database import Cursor, Database
from store.samples import kept_from_ms
from store.settings import StateSettings

# A run that is over is due at once. One that lasts is due when it has grown by a tenth or by an hour, whichever comes
# first: figures of a young run are minutes old, and those of a long one cost little. Data that comes late, as from a
# node that was away or while a store is filled, grows it as well: by the time from the late rows on to the
# footprint's end. One that is called idle right now is due as soon as it works again: it is to be taken off that list
# at once.
_DUE: Final = """
SELECT dirty_run.run_key, gen, coalesce(expected.rows, 0) AS rows
FROM dirty_run JOIN run USING (run_key)
LEFT JOIN footprint_run USING (run_key)
LEFT JOIN (SELECT run_key, sum((least(coalesce(allocation.end_ms, run.end_ms), $data_to_ms) - allocation.start_ms)
                               // greatest(interval_ms, 1))::BIGINT AS rows
           FROM allocation JOIN dirty_run USING (run_key) JOIN run USING (run_key) JOIN node USING (node_key)
           GROUP BY run_key) AS expected USING (run_key)
WHERE run.end_ms IS NOT NULL OR footprint_run.run_key IS NULL
   OR greatest($data_to_ms, footprint_run.end_ms) - least(coalesce(from_ms, $data_to_ms), footprint_run.end_ms)
      >= least($refresh_ms, greatest($refresh_least_ms, $ratio * (footprint_run.end_ms - footprint_run.start_ms)))
   OR EXISTS (SELECT 1 FROM finding JOIN gpu_minute ON gpu_minute.run_key = finding.run_key
              WHERE finding.run_key = dirty_run.run_key AND rule = 'idle_now' AND closed_ms IS NULL
              AND minute_ms > footprint_run.last_row_ms - $minute_ms AND gpu_minute.active_ms + gpu_minute.low_ms > 0)
ORDER BY run_key"""

# A finished run whose raw rows are gone in part keeps the footprint that it had.
_LEAVE: Final = """
DELETE FROM dirty_run USING run, footprint_run AS made
WHERE run.run_key = dirty_run.run_key AND made.run_key = dirty_run.run_key AND made.finished
  AND run.start_ms < $kept_from_ms"""

_CHUNK_BATCHES: Final = 64
"""Batches of raw rows whose results are kept until they are written: figures of each GPU, and when it was idle."""


class _Due(msgspec.Struct, frozen=True):
    run_key: int
    gen: int
    rows: int


DEFAULT_STATES: Final = StateSettings()


def footprints(db: Database, now_ms: int, settings: FootprintSettings, states: StateSettings = DEFAULT_STATES) -> int:
    """Renews the footprints of runs that new data touched; returns how many.

    Args:
        db: the store.
        now_ms: unused by the figures, which end where the data ends; jobs of the schedule all take it.
        settings: gaps, blips and how often a lasting run is renewed.
        states: the same thresholds as the rollup's.
    """
    del now_ms
    with db.cursor() as cur:
        data_to_ms = cur.scalar("SELECT max(last_ms) FROM node")
        if data_to_ms is None:
            return 0
        with cur.transaction():
            cur.execute(_LEAVE, {"kept_from_ms": kept_from_ms(cur)})
        asked = {
            "data_to_ms": data_to_ms,
            "refresh_ms": round(settings.refresh_s * 1000),
            "refresh_least_ms": MINUTE_MS,
            "minute_ms": MINUTE_MS,
            "ratio": settings.refresh_ratio,
        }
        due = cur.rows(_DUE, asked, _Due)
        for chunk in _chunks(due, _CHUNK_BATCHES * settings.rows_at_once):
            _renew(cur, chunk, data_to_ms, settings, states)
    return len(due)


def _chunks(due: list[_Due], most_rows: int) -> Iterator[list[_Due]]:
    """Runs in groups of about so many raw rows, so that memory stays bounded however many are due."""
    chunk: list[_Due] = []
    rows = 0
    for each in due:
        if chunk and rows + each.rows > most_rows:
            yield chunk
            chunk, rows = [], 0
        chunk.append(each)
        rows += each.rows
    if chunk:
        yield chunk


def _renew(cur: Cursor, chunk: list[_Due], data_to_ms: int, settings: FootprintSettings, states: StateSettings) -> None:
    holds = make_holds(cur, [each.run_key for each in chunk], data_to_ms)
    figure, of_run = figured(cur, holds, settings, states)
    # Only the writing is inside the transaction: ingest waits for it, and the figures are already made.
    with cur.table("figure", figure), cur.table("of_run", of_run), cur.transaction():
        cur.execute("DELETE FROM footprint_gpu WHERE run_key IN (SELECT run_key FROM chunk)")
        cur.execute("DELETE FROM footprint_run WHERE run_key IN (SELECT run_key FROM chunk)")
        cur.execute(WRITE_GPUS)
        cur.execute(WRITE_RUNS)
        # A run that new data touched meanwhile has another generation and stays due.
        cur.execute(
            "DELETE FROM dirty_run WHERE (run_key, gen) IN (SELECT unnest($run_keys), unnest($gens))",
            {"run_keys": [each.run_key for each in chunk], "gens": [each.gen for each in chunk]},
        )
