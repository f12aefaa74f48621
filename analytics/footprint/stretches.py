"""Idle stretches of each GPU: temp tables ``block`` (activity and idleness in turn) and ``stretch`` (per GPU).

A gap in the readings ends a stretch, and so does a pause. One short activity that stands alone (a blip) neither ends
one nor counts as use.
"""

from typing import Final

MAKE_BLOCKS: Final = """
CREATE OR REPLACE TEMP TABLE block AS
WITH known AS (
    SELECT run_key, gpu_key, kind, from_ms, to_ms, since_ms, busy_ms, lag(kind) OVER line AS kind_before,
           lag(to_ms) OVER line AS to_before, lag(since_ms) OVER line AS since_before
    FROM piece WHERE kind > 0 WINDOW line AS (PARTITION BY run_key, gpu_key ORDER BY from_ms)),
numbered AS (
    SELECT *, sum((kind IS DISTINCT FROM kind_before OR since_ms IS DISTINCT FROM since_before
                   OR from_ms - to_before > $gap_ms)::INTEGER)
              OVER (PARTITION BY run_key, gpu_key ORDER BY from_ms ROWS UNBOUNDED PRECEDING)::INTEGER AS block
    FROM known),
grouped AS (
    SELECT run_key, gpu_key, block, any_value(kind) = 2 AS busy, min(from_ms) AS from_ms, max(to_ms) AS to_ms,
           any_value(since_ms) AS since_ms, sum(busy_ms)::BIGINT AS busy_ms
    FROM numbered GROUP BY run_key, gpu_key, block),
busy_only AS (
    SELECT run_key, gpu_key, block, busy_ms < $blip_ms
           AND coalesce(from_ms - lag(to_ms) OVER line > $alone_ms, TRUE)
           AND coalesce(lead(from_ms) OVER line - to_ms > $alone_ms, TRUE) AS blip
    FROM grouped WHERE busy WINDOW line AS (PARTITION BY run_key, gpu_key ORDER BY from_ms))
SELECT grouped.*, coalesce(busy_only.blip, FALSE) AS blip, busy AND NOT coalesce(busy_only.blip, FALSE) AS used
FROM grouped LEFT JOIN busy_only USING (run_key, gpu_key, block)"""

MAKE_STRETCHES: Final = """
CREATE OR REPLACE TEMP TABLE stretch AS
WITH marked AS (
    SELECT *, sum((used IS DISTINCT FROM used_before OR since_ms IS DISTINCT FROM since_before
                   OR from_ms - to_before > $gap_ms)::INTEGER)
              OVER (PARTITION BY run_key, gpu_key ORDER BY from_ms ROWS UNBOUNDED PRECEDING) AS number
    FROM (SELECT *, lag(used) OVER line AS used_before, lag(to_ms) OVER line AS to_before,
                 lag(since_ms) OVER line AS since_before
          FROM block WINDOW line AS (PARTITION BY run_key, gpu_key ORDER BY from_ms))),
idle AS (
    SELECT run_key, gpu_key, min(from_ms) AS from_ms, max(to_ms) AS to_ms
    FROM marked WHERE NOT used GROUP BY run_key, gpu_key, number),
known AS (
    SELECT run_key, gpu_key, min(from_ms) AS from_ms, max(to_ms) AS to_ms,
           min(from_ms) FILTER (used) AS first_active_ms, max(to_ms) FILTER (used) AS last_active_ms
    FROM block GROUP BY run_key, gpu_key)
SELECT run_key, gpu_key, any_value(first_active_ms) AS first_active_ms, any_value(last_active_ms) AS last_active_ms,
       -- where the stretch that reaches the start ends, and where the one that reaches the end began
       max(idle.to_ms) FILTER (idle.from_ms = known.from_ms AND known.from_ms <= hold.start_ms + $gap_ms)
           AS leading_to_ms,
       min(idle.from_ms) FILTER (idle.to_ms = known.to_ms AND (NOT finished OR known.to_ms >= hold.end_ms - $gap_ms))
           AS trailing_from_ms,
       any_value(known.to_ms) AS known_to_ms,
       coalesce(max(idle.to_ms - idle.from_ms), 0)::BIGINT AS longest_idle_ms,
       count(idle.from_ms) FILTER (idle.to_ms - idle.from_ms >= $stretch_ms)::INTEGER AS idle_stretches
FROM hold JOIN known USING (run_key, gpu_key)
LEFT JOIN idle USING (run_key, gpu_key)
GROUP BY run_key, gpu_key"""
