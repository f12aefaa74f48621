"""Which runs need a footprint now, and how they are worked through."""

from collections.abc import Iterator
from typing import Final

import msgspec

from analytics.footprint.gaps import MAKE_GAPS
from analytics.footprint.hollow import make_hollow
from analytics.footprint.pauses import MAKE_LASTING, MAKE_PAUSES
from analytics.footprint.peak import MAKE_PEAKS
from analytics.footprint.per_gpu import MAKE_FIGURES, WRITE_GPUS
from analytics.footprint.per_run import WRITE_RUNS
from analytics.footprint.pieces import make_pieces
from analytics.footprint.stretches import MAKE_BLOCKS, MAKE_STRETCHES
from analytics.footprint.together import MAKE_TOGETHER
from analytics.model import MINUTE_MS
from analytics.settings import FootprintSettings
from store.columns import MAX_SPAN_MS
from store.database import Cursor, Database
from store.samples import kept_from_ms, samples
from store.settings import StateSettings

# A run that is over is due at once. One that lasts is due when it has grown by a tenth or by an hour, whichever comes
# first: figures of a young run are minutes old, and those of a long one cost little. Data that comes late, as from a
# node that was away or while a store is filled, grows it as well: by the time from the late rows on to the
# footprint's end. One that is called idle right now is due as soon as it works again: it is to be taken off that list
# at once.
_DUE: Final = """
SELECT dirty_run.run_key, gen, coalesce(counted.rows, 0) AS rows
FROM dirty_run JOIN run USING (run_key)
LEFT JOIN footprint_run USING (run_key)
LEFT JOIN (SELECT run_key, sum(rows)::BIGINT AS rows FROM gpu_hour WHERE run_key IN (SELECT run_key FROM dirty_run)
           GROUP BY run_key) AS counted USING (run_key)
WHERE run.end_ms IS NOT NULL OR footprint_run.run_key IS NULL
   OR greatest($data_to_ms, footprint_run.end_ms) - least(coalesce(from_ms, $data_to_ms), footprint_run.end_ms)
      >= least($refresh_ms, greatest($refresh_least_ms, $ratio * (footprint_run.end_ms - footprint_run.start_ms)))
   OR EXISTS (SELECT 1 FROM finding JOIN gpu_minute ON gpu_minute.run_key = finding.run_key
              WHERE finding.run_key = dirty_run.run_key AND rule = 'idle_now' AND closed_ms IS NULL
              AND minute_ms > footprint_run.last_row_ms - $minute_ms AND gpu_minute.active_ms + gpu_minute.low_ms > 0)
ORDER BY run_key"""

# A run that nobody saw end does not hold what the next one holds; shared GPUs have several holders by intent. The
# hour rollup cuts allocations in the same way. What was counted and never seen (gpu_key 0) has no footprint of its own.
_HOLDS: Final = """
CREATE OR REPLACE TEMP TABLE hold AS
WITH following AS (
    SELECT run_key, gpu_key, CASE WHEN NOT shared THEN
           lead(allocation.start_ms) OVER (PARTITION BY gpu_key ORDER BY allocation.start_ms, job_id_raw, restart)
           END AS next_ms
    FROM allocation JOIN run USING (run_key)
    WHERE gpu_key IN (SELECT gpu_key FROM allocation JOIN chunk USING (run_key)))
SELECT run_key, gpu_key, node_key, allocation.start_ms, finished,
       greatest(allocation.start_ms, least(coalesce(allocation.end_ms, chunk.end_ms), next_ms)) AS end_ms
FROM allocation JOIN chunk USING (run_key) JOIN following USING (run_key, gpu_key) WHERE gpu_key <> 0"""

# A finished run whose raw rows are gone in part keeps the footprint that it had.
_LEAVE: Final = """
DELETE FROM dirty_run USING run, footprint_run AS made
WHERE run.run_key = dirty_run.run_key AND made.run_key = dirty_run.run_key AND made.finished
  AND run.start_ms < $kept_from_ms"""

# An open run lasts until the data's end; accounting may name an end that lies beyond it for a run just finished.
_CHUNK: Final = """
CREATE OR REPLACE TEMP TABLE chunk AS
SELECT run.run_key, run.end_ms IS NOT NULL AS finished,
       greatest(run.start_ms, coalesce(run.end_ms, $data_to_ms)) AS end_ms,
       greatest(coalesce(run.alloc_gpus, 0), coalesce(seen.gpus, 0))::INTEGER AS gpus
FROM run LEFT JOIN (SELECT run_key, count(*) AS gpus FROM allocation WHERE gpu_key <> 0 GROUP BY run_key) AS seen
    USING (run_key)
WHERE run.run_key IN (SELECT unnest($run_keys))"""


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
        for chunk in _chunks(due, settings.rows_at_once):
            _renew(cur, chunk, data_to_ms, settings, states)
    return len(due)


def _chunks(due: list[_Due], rows_at_once: int) -> Iterator[list[_Due]]:
    """Runs in groups of about ``rows_at_once`` raw rows, so that memory stays bounded however many are due."""
    chunk: list[_Due] = []
    rows = 0
    for each in due:
        if chunk and rows + each.rows > rows_at_once:
            yield chunk
            chunk, rows = [], 0
        chunk.append(each)
        rows += each.rows
    if chunk:
        yield chunk


def _renew(cur: Cursor, chunk: list[_Due], data_to_ms: int, settings: FootprintSettings, states: StateSettings) -> None:
    gap_ms = round(settings.gap_s * 1000)
    cur.execute(_CHUNK, {"data_to_ms": data_to_ms, "run_keys": [each.run_key for each in chunk]})
    cur.execute(_HOLDS)
    cur.execute(MAKE_PAUSES)
    cur.execute(MAKE_LASTING)
    from_ms, to_ms = cur.tuples("SELECT coalesce(min(start_ms), 0), coalesce(max(end_ms), 0) FROM hold")[0]
    with samples(cur, from_ms, to_ms + MAX_SPAN_MS):
        cur.execute(make_pieces(states, settings.energy_limit_ratio))
    blips = {"blip_ms": round(settings.blip_s * 1000), "alone_ms": round(settings.blip_alone_s * 1000)}
    cur.execute(MAKE_BLOCKS, {"gap_ms": gap_ms, **blips})
    cur.execute(MAKE_STRETCHES, {"gap_ms": gap_ms, "stretch_ms": round(settings.stretch_s * 1000)})
    cur.execute(MAKE_GAPS, {"gap_ms": gap_ms, "power_ratio": settings.gap_power_ratio})
    cur.execute(make_hollow(settings))
    cur.execute(MAKE_FIGURES)
    cur.execute(MAKE_TOGETHER)
    cur.execute(MAKE_PEAKS, {"peak_busy_ms": round(settings.peak_busy_s * 1000)})
    # Only the writing is inside the transaction: ingest waits for it, and the figures are already made.
    with cur.transaction():
        cur.execute("DELETE FROM footprint_gpu WHERE run_key IN (SELECT run_key FROM chunk)")
        cur.execute("DELETE FROM footprint_run WHERE run_key IN (SELECT run_key FROM chunk)")
        cur.execute(WRITE_GPUS)
        cur.execute(WRITE_RUNS)
        # A run that new data touched meanwhile has another generation and stays due.
        cur.execute(
            "DELETE FROM dirty_run WHERE (run_key, gen) IN (SELECT unnest($run_keys), unnest($gens))",
            {"run_keys": [each.run_key for each in chunk], "gens": [each.gen for each in chunk]},
        )
