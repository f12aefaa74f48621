"""How many GPUs a run really used at once: temp table ``peak``, one row a run."""

from typing import Final

# Windows of 5 minutes that begin every 2.5: each busy piece counts in the two windows that hold it. Blips are no use.
WINDOW_STEP_MS: Final = 150_000

MAKE_PEAKS: Final = f"""
CREATE OR REPLACE TEMP TABLE peak AS
WITH busy AS (
    SELECT piece.run_key, piece.gpu_key, piece.from_ms // {WINDOW_STEP_MS} AS step, sum(piece.busy_ms)::BIGINT AS ms
    FROM piece WHERE piece.busy_ms > 0
    AND NOT EXISTS (SELECT 1 FROM block WHERE block.blip AND block.run_key = piece.run_key
                    AND block.gpu_key = piece.gpu_key AND block.from_ms <= piece.from_ms
                    AND block.to_ms >= piece.to_ms)
    GROUP BY ALL),
windows AS (
    SELECT run_key, gpu_key, window_step, sum(ms) AS ms
    FROM (SELECT run_key, gpu_key, unnest([step - 1, step]) AS window_step, ms FROM busy) GROUP BY ALL),
used AS (SELECT run_key, window_step, count(*) AS gpus FROM windows WHERE ms >= $peak_busy_ms GROUP BY ALL)
SELECT run_key, max(gpus)::INTEGER AS gpus FROM used GROUP BY run_key"""  # noqa: S608 - fragments of our own
