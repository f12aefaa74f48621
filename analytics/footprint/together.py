"""How long all GPUs of a run were idle at once: temp table ``together``, one row a run.

The least idle GPU says too much of a run whose GPUs take turns: at any moment one of them works.
"""

from typing import Final

# A blip is no use here either, as it ends no idle stretch. ``hold`` counts the GPUs that were seen.
MAKE_TOGETHER: Final = """
CREATE OR REPLACE TEMP TABLE together AS
WITH held AS (SELECT run_key, count(*) AS gpus FROM hold GROUP BY run_key),
edge AS (
    SELECT run_key, from_ms AS at_ms, 1 AS step FROM block WHERE NOT used
    UNION ALL SELECT run_key, to_ms, -1 FROM block WHERE NOT used),
moment AS (SELECT run_key, at_ms, sum(step)::INTEGER AS step FROM edge GROUP BY run_key, at_ms),
span AS (
    SELECT run_key, lead(at_ms) OVER line - at_ms AS ms,
           sum(step) OVER (line ROWS UNBOUNDED PRECEDING)::INTEGER AS idle
    FROM moment WINDOW line AS (PARTITION BY run_key ORDER BY at_ms))
SELECT run_key, coalesce(sum(ms) FILTER (idle = gpus), 0)::BIGINT AS ms FROM span JOIN held USING (run_key)
GROUP BY run_key"""
