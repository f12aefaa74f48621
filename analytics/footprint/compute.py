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
from store.catalog import BY_NAME
from store.database import Cursor, Database
from store.samples import kept_from_ms
from store.settings import StateSettings

# A run that is over is due at once. One that lasts is due when it has grown by a tenth or by an hour, whichever comes
# first: figures of a young run are minutes old, and those of a long one cost little. Data that comes late, as from a
# node that was away or while a store is filled, grows it as well: by the time from the late rows on to the
# footprint's end. One that is called idle right now is due as soon as it works again: it is to be taken off that list
# at once. All rows of a run are read for its footprint, so from a day on it has to grow by $long_ratio: a run of two
# weeks, read every hour, would be read 170 times over. That does not hold for one of which there is something to say:
# it has an open finding, or in its last hour its GPUs hardly worked or looked busy and did little.
_DUE: Final = """
WITH dirty AS (
    SELECT dirty_run.run_key, gen, run.end_ms IS NOT NULL OR made.run_key IS NULL AS at_once, made.last_row_ms,
           made.end_ms - made.start_ms AS length_ms,
           greatest($data_to_ms, made.end_ms) - least(coalesce(from_ms, $data_to_ms), made.end_ms) AS grown_ms
    FROM dirty_run JOIN run USING (run_key) LEFT JOIN footprint_run AS made USING (run_key)),
hour AS (
    SELECT run_key FROM gpu_minute SEMI JOIN (FROM dirty WHERE grown_ms >= $refresh_ms) AS grown USING (run_key)
    WHERE minute_ms >= $data_to_ms - 60 * $minute_ms GROUP BY run_key
    HAVING (sum(covered_ms) > 0 AND sum(active_ms + low_ms) <= $hardly * sum(covered_ms))
        OR (sum(util_pct_sum) >= $busy_util * sum(util_pct_ms)
            AND coalesce(sum(sm_active_pct_sum) / sum(sm_active_pct_ms) < $little_sm,
                         sum(mem_util_pct_sum) / sum(mem_util_pct_ms) <= $little_mem_util))),
told AS (
    SELECT run_key FROM hour UNION SELECT run_key FROM finding WHERE closed_ms IS NULL),
expected AS (
    SELECT run_key, sum((least(coalesce(allocation.end_ms, run.end_ms), $data_to_ms) - allocation.start_ms)
                        // greatest(interval_ms, 1))::BIGINT AS rows
    FROM allocation JOIN dirty_run USING (run_key) JOIN run USING (run_key) JOIN node USING (node_key)
    GROUP BY run_key)
SELECT run_key, gen, coalesce(expected.rows, 0) AS rows FROM dirty LEFT JOIN expected USING (run_key)
WHERE at_once
   OR grown_ms >= greatest(least($refresh_ms, greatest($minute_ms, $ratio * length_ms)), $long_ratio * length_ms)
   OR (grown_ms >= $refresh_ms AND run_key IN (FROM told))
   OR EXISTS (SELECT 1 FROM finding JOIN gpu_minute ON gpu_minute.run_key = finding.run_key
              WHERE finding.run_key = dirty.run_key AND rule = 'idle_now' AND closed_ms IS NULL
              AND minute_ms > last_row_ms - $minute_ms AND gpu_minute.active_ms + gpu_minute.low_ms > 0)
ORDER BY run_key"""

# A finished run whose raw rows are gone in part keeps the footprint that it had.
_LEAVE: Final = """
DELETE FROM dirty_run USING run, footprint_run AS made
WHERE run.run_key = dirty_run.run_key AND made.run_key = dirty_run.run_key AND made.finished
  AND run.start_ms < $kept_from_ms"""

_HARDLY: Final = 0.05
"""Share of an hour's readings up to which GPUs hardly worked: a blip must not hide that a run is idle."""
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
        due = cur.rows(_DUE, {"data_to_ms": data_to_ms, **_asked(settings)}, _Due)
        for chunk in _chunks(due, _CHUNK_BATCHES * settings.rows_at_once):
            _renew(cur, chunk, data_to_ms, settings, states)
    return len(due)


def _asked(settings: FootprintSettings) -> dict[str, float]:
    """Thresholds of _DUE, utilization as stored."""
    return {
        "refresh_ms": round(settings.refresh_s * 1000),
        "minute_ms": MINUTE_MS,
        "ratio": settings.refresh_ratio,
        "long_ratio": settings.refresh_long_ratio,
        "hardly": _HARDLY,
        "busy_util": settings.hollow_util_pct * BY_NAME["util_pct"].per_unit,
        "little_sm": settings.hollow_wait_sm_pct * BY_NAME["sm_active_pct"].per_unit,
        "little_mem_util": settings.hollow_mem_util_pct * BY_NAME["mem_util_pct"].per_unit,
    }


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
