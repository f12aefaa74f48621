"""One row a run, from the rows of its GPUs: table ``footprint_run``."""

from typing import Final

from analytics.family import FAMILY_SQL

# CPU time is Slurm's TotalCPU, which omits children of signalled steps and is 0 where gathering is off: it counts for
# COMPLETED runs only, and 0 means unknown. An allocated CPU may be a hardware thread or a core, so up to 2 per CPU
# can be true; more is bad accounting.
_CPU_EFFICIENCY: Final = """CASE WHEN run.state = 'COMPLETED' AND run.cpu_ms > 0 AND run.alloc_cpus > 0
    AND coalesce(run.elapsed_ms, run.end_ms - run.start_ms) > 0
    AND run.cpu_ms <= 2.1 * run.alloc_cpus * coalesce(run.elapsed_ms, run.end_ms - run.start_ms)
    THEN run.cpu_ms::DOUBLE / run.alloc_cpus / coalesce(run.elapsed_ms, run.end_ms - run.start_ms) END"""

# The control group of a job counts all that ran in it, while it runs too. It speaks for the run where every node of it
# was read for most of the time.
_BUSY_CORES: Final = """CASE WHEN busy.nodes >= greatest(coalesce(run.nodes, 0), run.nodes_seen)
    AND busy.span_ms >= 0.7 * (run.ended_ms - run.start_ms - coalesce(run.suspended_ms, 0))
    AND (run.alloc_cpus IS NULL OR busy.busy_cores <= 2.1 * run.alloc_cpus) THEN busy.busy_cores END"""

# Idle of the run: every GPU idle at once. All leading stretches begin at the start, so the shortest is the run's; the
# trailing ones end together. Where a GPU was not seen, or went silent while others report, none of it is known.
WRITE_RUNS: Final = f"""
INSERT INTO footprint_run BY NAME
WITH gpus AS (
    SELECT footprint_gpu.*, gpu.model, gpu.mem_total_mib, gpu.power_limit_w, gpu.gpu_key AS key,
           figure.trailing_from_ms, figure.known_to_ms, figure.last_row_ms, node.interval_ms
    FROM footprint_gpu JOIN chunk USING (run_key) JOIN gpu ON gpu.gpu_key = footprint_gpu.gpu_key
    JOIN node ON node.node_key = footprint_gpu.node_key
    JOIN hold ON hold.run_key = footprint_gpu.run_key AND hold.gpu_key = footprint_gpu.gpu_key
    JOIN figure ON figure.number = hold.number),
summed AS (
    SELECT run_key, count(*)::INTEGER AS gpus_seen, min(covered_ms::DOUBLE / nullif(held_ms, 0)) AS coverage,
           min(watched_ms::DOUBLE / nullif(covered_ms, 0)) AS watched_ratio, min(rows)::INTEGER AS min_rows,
           sum(held_ms)::BIGINT AS held_ms, sum(covered_ms)::BIGINT AS covered_ms, sum(active_ms)::BIGINT AS active_ms,
           sum(low_ms)::BIGINT AS low_ms, sum(idle_held_ms)::BIGINT AS idle_held_ms, sum(idle_ms)::BIGINT AS idle_ms,
           count(*) FILTER (first_active_ms IS NOT NULL)::INTEGER AS gpus_active,
           sum(util_mean_pct * covered_ms ORDER BY key) / nullif(sum(covered_ms), 0) AS util_mean_pct,
           max(util_p95_pct) AS util_p95_pct,
           sum(sm_mean_pct * covered_ms ORDER BY key) FILTER (sm_mean_pct IS NOT NULL)
               / nullif(sum(covered_ms) FILTER (sm_mean_pct IS NOT NULL), 0) AS sm_mean_pct,
           max(mem_max_mib / mem_total_mib) AS mem_max_ratio, sum(mem_max_mib ORDER BY key) AS mem_sum_max_mib,
           sum(power_mean_w * covered_ms ORDER BY key) FILTER (power_limit_w > 0)
               / nullif(sum(power_limit_w * covered_ms ORDER BY key) FILTER (power_mean_w IS NOT NULL), 0)
               AS power_mean_ratio,
           sum(energy_j ORDER BY key) AS energy_j,
           CASE WHEN bool_and(leading_idle_ms IS NOT NULL) THEN min(leading_idle_ms + start_ms) END AS leading_to_ms,
           CASE WHEN bool_and(trailing_from_ms IS NOT NULL) THEN max(trailing_from_ms) END AS trailing_from_ms,
           bool_and(rows > 0) AS all_read, max(last_row_ms) AS last_row_ms, min(known_to_ms) AS known_to_ms,
           max(interval_ms) AS interval_ms,
           1 - avg(util_mean_pct ORDER BY key) / nullif(max(util_mean_pct), 0) AS spatial_imbalance,
           1 - sum(util_mean_pct ORDER BY key) / nullif(sum(util_max_pct ORDER BY key), 0) AS temporal_imbalance,
           min(model) AS model
    FROM gpus GROUP BY run_key),
used AS (
    SELECT run_key, node_key, sum(cpu_ms)::BIGINT / sum(span_ms)::DOUBLE AS busy_cores, sum(span_ms)::BIGINT AS span_ms
    FROM host_minute JOIN chunk USING (run_key)
    -- A suspended job waits in its control group: that time is not its own.
    WHERE NOT EXISTS (FROM suspension WHERE suspension.run_key = host_minute.run_key
        AND host_minute.minute_ms >= suspension.start_ms
        AND host_minute.minute_ms + 60000 <= coalesce(suspension.end_ms, chunk.end_ms))
    GROUP BY run_key, node_key),
busy AS (
    SELECT run_key, sum(busy_cores ORDER BY node_key) AS busy_cores, count(*) AS nodes, min(span_ms) AS span_ms
    FROM used GROUP BY run_key),
placed AS (SELECT run_key, count(DISTINCT node_key) AS nodes_seen FROM hold GROUP BY run_key),
joined AS (
    SELECT chunk.finished, chunk.end_ms AS ended_ms, run.*, summed.* EXCLUDE (run_key), chunk.gpus,
           chunk.gpus = coalesce(gpus_seen, 0) AND all_read AS all_seen, coalesce(nodes_seen, 1) AS nodes_seen
    FROM chunk JOIN run USING (run_key) LEFT JOIN summed USING (run_key) LEFT JOIN placed USING (run_key)),
told AS (
    SELECT run.*, {_BUSY_CORES} AS busy_cores, {_CPU_EFFICIENCY} AS accounted
    FROM joined AS run LEFT JOIN busy USING (run_key)),
run AS (SELECT *, busy_cores / nullif(alloc_cpus, 0) AS counted FROM told)
SELECT run.run_key, start_ms, ended_ms AS end_ms, finished, run.gpus, coalesce(gpus_seen, 0) AS gpus_seen,
       coalesce(gpus_active, 0) AS gpus_active, req_gpus AS gpus_requested, of_run.gpus_peak,
       coalesce(held_ms, 0) + (run.gpus - coalesce(gpus_seen, 0)) * (ended_ms - start_ms) AS held_ms,
       coalesce(covered_ms, 0) AS covered_ms,
       CASE WHEN run.gpus = gpus_seen THEN coalesce(coverage, 0) ELSE 0 END AS coverage, watched_ratio,
       coalesce(min_rows, 0) AS min_rows, coalesce(active_ms, 0) AS active_ms, coalesce(low_ms, 0) AS low_ms,
       coalesce(idle_held_ms, 0) AS idle_held_ms, coalesce(idle_ms, 0) AS idle_ms,
       coalesce(held_ms, 0) + (run.gpus - coalesce(gpus_seen, 0)) * (ended_ms - start_ms) - coalesce(covered_ms, 0)
           AS unknown_ms,
       util_mean_pct, util_p95_pct, sm_mean_pct, mem_max_ratio, mem_sum_max_mib, power_mean_ratio, energy_j,
       CASE WHEN all_seen THEN greatest(0, coalesce(leading_to_ms - start_ms, 0)) END AS leading_idle_ms,
       CASE WHEN all_seen AND finished THEN greatest(0, coalesce(ended_ms - trailing_from_ms, 0)) END
           AS trailing_idle_ms,
       CASE WHEN all_seen AND NOT finished AND last_row_ms - known_to_ms <= 3 * interval_ms
            THEN greatest(0, coalesce(last_row_ms - trailing_from_ms, 0)) END AS recent_idle_ms,
       -- with no idle moment nothing was laid down: none, where all was read
       CASE WHEN all_seen THEN coalesce(of_run.idle_together_ms, 0) END AS idle_together_ms,
       last_row_ms, spatial_imbalance, temporal_imbalance, busy_cores, coalesce(counted, accounted) AS cpu_efficiency,
       CASE WHEN counted IS NOT NULL THEN 'cgroup' WHEN accounted IS NOT NULL THEN 'accounting' END AS cpu_source,
       {FAMILY_SQL} AS family, FALSE AS judged
FROM run LEFT JOIN of_run USING (run_key)"""  # noqa: S608 - fragments of our own
