"""Suspended time is not held: temp tables ``pause`` and, of each GPU's hold, what pauses leave of it, ``lasting``."""

from typing import Final

MAKE_PAUSES: Final = """
CREATE OR REPLACE TEMP TABLE pause AS
SELECT hold.run_key, hold.gpu_key, greatest(suspension.start_ms, hold.start_ms) AS start_ms,
       least(coalesce(suspension.end_ms, hold.end_ms), hold.end_ms) AS end_ms
FROM hold JOIN suspension USING (run_key)
WHERE suspension.start_ms < hold.end_ms
  AND coalesce(suspension.end_ms, hold.end_ms) > greatest(suspension.start_ms, hold.start_ms)"""

# From the start of the hold, and from the end of each pause, to where the next one begins.
MAKE_LASTING: Final = """
CREATE OR REPLACE TEMP TABLE lasting AS
SELECT * FROM (
    SELECT run_key, gpu_key, from_ms AS start_ms, coalesce(
               lead(cut_ms) OVER (PARTITION BY run_key, gpu_key ORDER BY cut_ms NULLS FIRST), hold_end_ms) AS end_ms
    FROM (
        SELECT run_key, gpu_key, NULL::BIGINT AS cut_ms, start_ms AS from_ms, end_ms AS hold_end_ms FROM hold
        UNION ALL
        SELECT run_key, gpu_key, pause.start_ms, pause.end_ms, hold.end_ms
        FROM pause JOIN hold USING (run_key, gpu_key)))
WHERE end_ms > start_ms"""
