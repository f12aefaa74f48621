"""The evidence on runs that the rules have not seen yet, or whose finding is open."""

from collections import defaultdict
from typing import Final

from analytics.evidence import GpuEvidence, RunEvidence
from analytics.model import MINUTE_MS
from store.database import Cursor

# A run that lasts is looked at every time while a finding on it is open, since rows that no longer come close it too,
# and while it is idle, since only time has to pass for it to be called so.
_WHICH: Final = """
SELECT run_key FROM footprint_run WHERE NOT judged OR (NOT finished AND recent_idle_ms > 0)
UNION
SELECT finding.run_key FROM finding JOIN footprint_run USING (run_key) WHERE closed_ms IS NULL AND NOT finished
ORDER BY run_key LIMIT $most"""

_RUNS: Final = """
SELECT run_key, kind, cluster, job_id, job_id_raw, state, user_name AS user, account, "partition", qos, name,
       interactive, shared, nodes, suspended_ms - coalesce((
           SELECT sum(greatest(0, coalesce(s.end_ms, f.end_ms) - s.start_ms)) FROM suspension s
           WHERE s.run_key = f.run_key), 0)::BIGINT AS untold_ms,
       f.start_ms, f.end_ms, finished, gpus, gpus_seen, gpus_active, gpus_requested,
       held_ms, covered_ms, coverage, watched_ratio, min_rows, util_mean_pct, leading_idle_ms, trailing_idle_ms,
       recent_idle_ms, idle_together_ms, last_row_ms, cpu_efficiency, cpu_source,
       coalesce((SELECT max(interval_ms) FROM allocation JOIN node USING (node_key)
                 WHERE allocation.run_key = f.run_key), 0) AS interval_ms,
       NOT EXISTS (SELECT 1 FROM allocation JOIN null_reason USING (gpu_key)
                   WHERE allocation.run_key = f.run_key AND metric = 'util_pct' AND reason = 'not_supported'
                   AND from_ms < f.end_ms AND to_ms > f.start_ms) AS measurable
FROM footprint_run f JOIN run USING (run_key) WHERE run_key IN (SELECT unnest($run_keys)) ORDER BY run_key"""

_GPUS: Final = """
SELECT run_key, gpu_key, slices::DOUBLE / slices_of AS share, held_ms, covered_ms, active_ms, low_ms, idle_held_ms,
       idle_ms, parked_ms, busy_ms, first_active_ms IS NOT NULL AS used, gaps_closed, longest_gap_ms, util_mean_pct,
       coalesce(throttled_ms, 0) AS throttled_ms, coalesce(hollow_ms, 0) AS hollow_ms,
       coalesce(hollow_longest_ms, 0) AS hollow_longest_ms, coalesce(hollow_unsaid_ms, 0) AS hollow_unsaid_ms,
       hollow_from_ms, hollow_to_ms, hollow_sm_pct, hollow_power_w, rest_power_w
FROM footprint_gpu JOIN gpu USING (gpu_key) WHERE run_key IN (SELECT unnest($run_keys)) ORDER BY run_key, gpu_key"""

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
    return [
        run.with_gpus(tuple(each[run.run_key]), tuple(faults[run.run_key])).idle_on(idle_since.get(run.run_key, 0))
        for run in found
    ]


def open_rules(cur: Cursor, run_keys: list[int]) -> dict[int, set[str]]:
    """Returns the rules of the open findings of each run that has any."""
    opened: defaultdict[int, set[str]] = defaultdict(set)
    for run_key, rule in cur.tuples(
        "SELECT run_key, rule FROM finding WHERE closed_ms IS NULL AND run_key IN (SELECT unnest($1))", [run_keys]
    ):
        opened[run_key].add(rule)
    return opened
