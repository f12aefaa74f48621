"""The evidence on runs that the rules have not seen yet, or whose finding is open."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

from analytics.evidence import GpuEvidence, RunEvidence
from analytics.gpu_models import GpuModel
from analytics.model import MINUTE_MS
from store.database import Cursor
from store.schema import NODE_WORD_MS

# A run that lasts is looked at every time while a finding on it is open, since rows that no longer come close it too,
# and while it is idle, since only time has to pass for it to be called so.
_WHICH: Final = """
SELECT run_key FROM footprint_run WHERE NOT judged OR (NOT finished AND recent_idle_ms > 0)
UNION
SELECT finding.run_key FROM finding JOIN footprint_run USING (run_key) WHERE closed_ms IS NULL AND NOT finished
ORDER BY run_key LIMIT $most"""

_RUNS: Final = """
SELECT run_key, kind, cluster, job_id, job_id_raw, state, user_name AS user, account, "partition", qos, name,
       interactive, shared, nodes, suspended_ms - coalesce(paused.ms, 0) AS untold_ms,
       coalesce(paused.ms, 0) AS paused_ms,
       f.start_ms, f.end_ms, finished, gpus, gpus_seen, gpus_active, gpus_requested,
       held_ms, covered_ms, coverage, watched_ratio, min_rows, util_mean_pct, leading_idle_ms, trailing_idle_ms,
       recent_idle_ms, idle_together_ms, last_row_ms, cpu_efficiency, cpu_source,
       alloc_cpus::DOUBLE / nullif(gpus, 0) AS cores_per_gpu,
       timelimit_ms, timelimit_unlimited,
       coalesce((SELECT max(interval_ms) FROM allocation JOIN node USING (node_key)
                 WHERE allocation.run_key = f.run_key), 0) AS interval_ms,
       NOT EXISTS (SELECT 1 FROM allocation JOIN null_reason USING (gpu_key)
                   WHERE allocation.run_key = f.run_key AND metric = 'util_pct' AND reason = 'not_supported'
                   AND from_ms < f.end_ms AND to_ms > f.start_ms) AS measurable
FROM footprint_run f JOIN run USING (run_key) LEFT JOIN (
    SELECT f.run_key, sum(greatest(0, least(coalesce(s.end_ms, f.end_ms), f.end_ms) - s.start_ms))::BIGINT AS ms
    FROM suspension s JOIN footprint_run f USING (run_key) WHERE f.run_key IN (SELECT unnest($run_keys))
    GROUP BY ALL) AS paused USING (run_key)
WHERE run_key IN (SELECT unnest($run_keys)) ORDER BY run_key"""

_GPUS: Final = """
SELECT run_key, gpu_key, slices::DOUBLE / slices_of AS share, held_ms, covered_ms, active_ms, low_ms, idle_held_ms,
       idle_ms, parked_ms, busy_ms, first_active_ms IS NOT NULL AS used, gaps_closed, longest_gap_ms, util_mean_pct,
       util_p95_pct, sm_p95_pct, engine_p95_pct, mem_p99_mib, model,
       coalesce(throttled_ms, 0) AS throttled_ms, coalesce(hollow_ms, 0) AS hollow_ms,
       coalesce(hollow_longest_ms, 0) AS hollow_longest_ms, coalesce(hollow_unsaid_ms, 0) AS hollow_unsaid_ms,
       hollow_from_ms, hollow_to_ms, hollow_sm_pct, hollow_power_w, rest_power_w
FROM footprint_gpu JOIN gpu USING (gpu_key) WHERE run_key IN (SELECT unnest($run_keys)) ORDER BY run_key, gpu_key"""

# Each run among those of its family that ended before it, so that a verdict does not change with what comes later.
_FAMILY: Final = """
WITH each AS (
    SELECT run_key, family, f.end_ms, run.state, f.end_ms - f.start_ms AS length_ms
    FROM footprint_run f JOIN run USING (run_key)
    WHERE f.finished AND family IN (SELECT family FROM footprint_run WHERE run_key IN (SELECT unnest($run_keys)))),
counted AS (
    SELECT run_key, count(*) FILTER (state = 'COMPLETED') OVER upto AS completed,
           count(*) FILTER (starts_with(state, 'TIMEOUT')) OVER upto AS timeouts, max(length_ms) OVER upto AS longest_ms
    FROM each WINDOW upto AS (PARTITION BY family ORDER BY end_ms, run_key ROWS UNBOUNDED PRECEDING))
SELECT run_key, completed, timeouts, longest_ms FROM counted WHERE run_key IN (SELECT unnest($run_keys))"""

# Slurm's last word on each node before the run's end; each node is told of once an hour at least. $low bounds the words
# that are looked at for all runs.
_NODE_CORES: Final = f"""
WITH place AS (
    SELECT DISTINCT f.run_key, f.end_ms, node_key, node.cluster, node.name
    FROM footprint_run f JOIN allocation USING (run_key) JOIN node USING (node_key)
    WHERE f.run_key IN (SELECT unnest($run_keys))),
word AS (
    SELECT run_key, node_key, max_by(s.cpus::DOUBLE / nullif(s.gpus, 0), s.at_ms) AS cores
    FROM place JOIN node_state s ON s.cluster = place.cluster AND s.name = place.name
    WHERE s.at_ms > $low - {NODE_WORD_MS} AND s.at_ms > end_ms - {NODE_WORD_MS} AND s.at_ms <= end_ms
    GROUP BY run_key, node_key)
SELECT run_key, min(cores) FROM place LEFT JOIN word USING (run_key, node_key) GROUP BY run_key
HAVING bool_and(cores IS NOT NULL)"""  # noqa: S608 - a constant

_MODELS: Final = f"""
SELECT gpu.model AS name, min(mem_total_mib) AS mem_total_mib,
       CASE WHEN count(DISTINCT s.gpu_type) = 1 THEN min(s.gpu_type) END AS gres, min(s.partitions) AS partitions
FROM gpu JOIN node USING (node_key) LEFT JOIN (
    SELECT cluster, name, max_by(gpu_type, at_ms) AS gpu_type, max_by(partitions, at_ms) AS partitions
    FROM node_state WHERE at_ms > $newest - {NODE_WORD_MS} GROUP BY cluster, name) AS s
    ON s.cluster = node.cluster AND s.name = node.name
WHERE gpu.model IS NOT NULL AND mem_total_mib > 0 AND slices = slices_of AND node.cluster = $cluster
GROUP BY gpu.model ORDER BY gpu.model"""  # noqa: S608 - a constant

# An event without a GPU concerns all of its node's.
_FAULTS: Final = """
SELECT DISTINCT allocation.run_key, event.kind
FROM event JOIN allocation ON allocation.node_key = event.node_key
     AND (event.gpu_key IS NULL OR event.gpu_key = allocation.gpu_key)
JOIN footprint_run USING (run_key)
WHERE run_key IN (SELECT unnest($run_keys)) AND event.kind IN (SELECT unnest($kinds))
  AND ts_ms >= footprint_run.start_ms AND ts_ms <= footprint_run.end_ms
ORDER BY ALL"""


# A lasting run's footprint is renewed now and then; the minutes since then say whether it is idle still. They count
# where every GPU was read all along, but for the minute that is no gap, and did nothing.
_IDLE_SINCE: Final = """
WITH lasting AS (
    SELECT run_key, last_row_ms, gpus FROM footprint_run
    WHERE NOT finished AND recent_idle_ms >= $minute_ms AND run_key IN (SELECT unnest($run_keys))),
since AS (
    SELECT run_key, gpu_key, any_value(last_row_ms) AS from_ms, any_value(gpus) AS gpus,
           least(max(minute_ms) + $minute_ms, any_value(node.last_ms)) AS to_ms,
           sum(gpu_minute.covered_ms)::BIGINT AS covered_ms, sum(active_ms + low_ms)::BIGINT AS busy_ms
    FROM gpu_minute JOIN lasting USING (run_key) JOIN node USING (node_key)
    WHERE minute_ms > last_row_ms - $minute_ms AND gpu_minute.covered_ms > 0 GROUP BY run_key, gpu_key)
SELECT run_key, min(to_ms) - any_value(from_ms) AS idle_ms FROM since GROUP BY run_key
HAVING sum(busy_ms) = 0 AND count(*) = any_value(gpus) AND bool_and(covered_ms >= to_ms - from_ms - $minute_ms)
   AND min(to_ms) > any_value(from_ms)"""


def runs_to_judge(cur: Cursor, most: int) -> list[int]:
    """Returns the keys of up to ``most`` runs that are due."""
    return [key for (key,) in cur.tuples(_WHICH, {"most": most})]


def evidence(cur: Cursor, run_keys: list[int], fault_kinds: tuple[str, ...]) -> list[RunEvidence]:
    """Returns what is known of the runs, GPUs included."""
    each: defaultdict[int, list[GpuEvidence]] = defaultdict(list)
    for gpu in cur.rows(_GPUS, {"run_keys": run_keys}, GpuEvidence):
        each[gpu.run_key].append(gpu)
    faults: defaultdict[int, list[str]] = defaultdict(list)
    for run_key, kind in cur.tuples(_FAULTS, {"run_keys": run_keys, "kinds": list(fault_kinds)}):
        faults[run_key].append(kind)
    idle_since: dict[int, int] = dict(cur.tuples(_IDLE_SINCE, {"run_keys": run_keys, "minute_ms": MINUTE_MS}))
    found = cur.rows(_RUNS, {"run_keys": run_keys}, RunEvidence)
    low_ms = min((run.end_ms for run in found), default=0)
    cores = dict(cur.tuples(_NODE_CORES, {"run_keys": run_keys, "low": low_ms}))
    family = {key: told for key, *told in cur.tuples(_FAMILY, {"run_keys": run_keys})}
    found = [
        run.with_gpus(tuple(each[run.run_key]), tuple(faults[run.run_key])).idle_on(idle_since.get(run.run_key, 0))
        for run in found
    ]
    found = [msgspec.structs.replace(run, node_cores_per_gpu=cores.get(run.run_key)) for run in found]
    return [run.among(*family[run.run_key]) if run.run_key in family else run for run in found]


def gpu_models(cur: Cursor, clusters: Iterable[str]) -> dict[str, tuple[GpuModel, ...]]:
    """Returns the GPU models of each cluster; a MIG instance is none."""
    newest = cur.scalar("SELECT max(at_ms) FROM node_state") or 0
    return {cluster: tuple(cur.rows(_MODELS, {"cluster": cluster, "newest": newest}, GpuModel)) for cluster in clusters}


def open_rules(cur: Cursor, run_keys: list[int]) -> dict[int, set[str]]:
    """Returns the rules of the open findings of each run that has any."""
    opened: defaultdict[int, set[str]] = defaultdict(set)
    for run_key, rule in cur.tuples(
        "SELECT run_key, rule FROM finding WHERE closed_ms IS NULL AND run_key IN (SELECT unnest($1))", [run_keys]
    ):
        opened[run_key].add(rule)
    return opened
