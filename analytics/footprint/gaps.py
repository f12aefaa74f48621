"""Gaps: time without a usable utilization reading, and whether the energy counter shows that the GPU idled in it.

"Never used" says something about every second, so it needs the seconds that nobody saw: temp table ``gap``, per GPU.
"""

from typing import Final

from store.catalog import BY_NAME

# The agent's energy of a row is the counter's difference to the row before it, so the first row after a gap carries the
# energy of the gap. A gap is closed where the mean power from its begin to the end of that row lies within
# $power_ratio of the GPU's idle rows; both ways, since a difference that leaves the gap out would look too low. It
# stays unsaid, NULL, where that row has no energy (the agent was started anew) or no row follows.
MAKE_GAPS: Final = """
CREATE OR REPLACE TEMP TABLE gap AS
WITH edges AS (
    SELECT run_key, gpu_key, lag(to_ms) OVER (PARTITION BY run_key, gpu_key ORDER BY from_ms) AS from_ms,
           from_ms AS to_ms, to_ms AS row_to_ms, energy_mj
    FROM piece WHERE kind > 0
    UNION ALL
    SELECT run_key, gpu_key, max(to_ms), NULL, NULL, NULL FROM piece WHERE kind > 0 GROUP BY run_key, gpu_key),
gaps AS (
    SELECT run_key, gpu_key, coalesce(edges.from_ms, hold.start_ms) AS from_ms,
           coalesce(edges.to_ms, CASE WHEN finished THEN hold.end_ms END) AS to_ms, row_to_ms, energy_mj
    FROM hold LEFT JOIN edges USING (run_key, gpu_key)),
idle_power AS (
    SELECT run_key, gpu_key, sum(power_w::BIGINT * ms)::BIGINT / POWER_SCALE / sum(ms)::BIGINT AS watts
    FROM piece WHERE kind = 1 AND power_w IS NOT NULL GROUP BY run_key, gpu_key),
spent AS (
    SELECT gaps.run_key, gaps.gpu_key, gaps.from_ms,
           CASE WHEN any_value(gaps.energy_mj) IS NOT NULL
                THEN sum(piece.energy_mj)::BIGINT / (any_value(row_to_ms) - gaps.from_ms) END AS watts
    FROM gaps LEFT JOIN piece ON piece.run_key = gaps.run_key AND piece.gpu_key = gaps.gpu_key
         AND piece.from_ms >= gaps.from_ms AND piece.to_ms <= row_to_ms
    WHERE gaps.to_ms - gaps.from_ms > $gap_ms
    GROUP BY gaps.run_key, gaps.gpu_key, gaps.from_ms),
explained AS (
    SELECT run_key, gpu_key, bool_and(closed) AS none_open, bool_or(closed IS NULL) AS some_unsaid
    FROM (SELECT run_key, gpu_key, abs(spent.watts - idle_power.watts) <= idle_power.watts * $power_ratio AS closed
          FROM spent LEFT JOIN idle_power USING (run_key, gpu_key))
    GROUP BY run_key, gpu_key)
SELECT run_key, gpu_key, coalesce(max(to_ms - from_ms), 0)::BIGINT AS longest_gap_ms,
       CASE WHEN NOT any_value(none_open) THEN FALSE
            WHEN any_value(some_unsaid) THEN NULL ELSE TRUE END AS gaps_closed
FROM gaps LEFT JOIN explained USING (run_key, gpu_key) GROUP BY run_key, gpu_key""".replace(
    "POWER_SCALE", f"{BY_NAME['power_w'].per_unit:d}.0"
)
