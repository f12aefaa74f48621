"""One row a run and GPU: table ``footprint_gpu``, from the figures of each hold."""

from typing import Final

from analytics.clocks import SLOWDOWNS
from analytics.footprint.rows import TRAFFIC

_ACTIVITIES: Final = ("tensor", "dram")

# A GPU that Slurm counts and no node showed has no row here: what was not seen has no figures.
WRITE_GPUS: Final = f"""
INSERT INTO footprint_gpu BY NAME
SELECT hold.run_key, hold.gpu_key, hold.node_key, hold.start_ms, hold.end_ms,
       hold.end_ms - hold.start_ms - coalesce(paused_ms, 0) AS held_ms, rows, readings, covered_ms, watched_ms,
       longest_gap_ms, gaps_closed, active_ms, low_ms, idle_held_ms, idle_ms,
       hold.end_ms - hold.start_ms - coalesce(paused_ms, 0) - covered_ms AS unknown_ms, parked_ms, busy_ms,
       util_mean_pct, util_p50_pct, util_p95_pct, util_max_pct, sm_mean_pct, sm_p95_pct, engine_p95_pct,
       {", ".join(f"{short}_mean_pct, {short}_p95_pct" for short in _ACTIVITIES)}, {", ".join(TRAFFIC)},
       mem_mean_mib, mem_p99_mib, mem_max_mib, power_mean_w, power_p95_w, power_max_w,
       energy_j, CASE WHEN energy_j IS NOT NULL THEN energy_estimated OR gpu.slices < gpu.slices_of END
           AS energy_estimated,
       -- without any reading nothing is known of idleness; with readings and no such stretch it is zero
       CASE WHEN rows > 0 THEN greatest(0, coalesce(leading_to_ms - hold.start_ms, 0)) END AS leading_idle_ms,
       CASE WHEN rows > 0 AND finished THEN greatest(0, coalesce(hold.end_ms - trailing_from_ms, 0)) END
           AS trailing_idle_ms,
       longest_idle_ms, idle_stretches, first_active_ms, last_active_ms,
       hollow_ms, hollow_longest_ms, hollow_from_ms, hollow_to_ms, hollow_sm_pct, hollow_power_w, rest_power_w,
       hollow_unsaid_ms, throttled_ms,
       {", ".join(f"{slowdown.id}_ms" for slowdown in SLOWDOWNS)}
FROM figure JOIN hold USING (number) SEMI JOIN run USING (run_key) JOIN gpu ON gpu.gpu_key = hold.gpu_key
LEFT JOIN (SELECT run_key, gpu_key, sum(end_ms - start_ms)::BIGINT AS paused_ms FROM pause GROUP BY ALL) AS paused
    ON paused.run_key = hold.run_key AND paused.gpu_key = hold.gpu_key"""  # noqa: S608 - fragments of our own
