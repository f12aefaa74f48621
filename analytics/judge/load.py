"""The evidence on runs that the rules have not seen yet, or whose finding is open."""

from collections import defaultdict
from typing import Final

from analytics.evidence import GpuEvidence, RunEvidence
from store.database import Cursor

# A finding that is open on a run that lasts is looked at every time: rows that no longer come close it too.
_WHICH: Final = """
SELECT run_key FROM footprint_run WHERE NOT judged
UNION
SELECT finding.run_key FROM finding JOIN footprint_run USING (run_key) WHERE closed_ms IS NULL AND NOT finished
ORDER BY run_key LIMIT $most"""

_RUNS: Final = """
SELECT run_key, kind, cluster, job_id, job_id_raw, state, user_name AS user, account, "partition", qos, name,
       interactive, shared, suspended_ms, nodes,
       f.start_ms, f.end_ms, finished, gpus, gpus_seen, gpus_active, gpus_requested,
       held_ms, covered_ms, coverage, watched_ratio, min_rows, util_mean_pct, leading_idle_ms, trailing_idle_ms,
       recent_idle_ms, last_row_ms, cpu_efficiency, cpu_source,
       coalesce((SELECT max(interval_ms) FROM allocation JOIN node USING (node_key)
                 WHERE allocation.run_key = f.run_key), 0) AS interval_ms,
       NOT EXISTS (SELECT 1 FROM allocation JOIN null_reason USING (gpu_key)
                   WHERE allocation.run_key = f.run_key AND metric = 'util_pct' AND reason = 'not_supported'
                   AND from_ms < f.end_ms AND to_ms > f.start_ms) AS measurable
FROM footprint_run f JOIN run USING (run_key) WHERE run_key IN (SELECT unnest($run_keys)) ORDER BY run_key"""

_GPUS: Final = """
SELECT run_key, gpu_key, slices::DOUBLE / slices_of AS share, held_ms, covered_ms, active_ms, low_ms, idle_held_ms,
       idle_ms, busy_ms, first_active_ms IS NOT NULL AS used, gaps_closed, longest_gap_ms, util_mean_pct,
       coalesce(throttled_ms, 0) AS throttled_ms
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
    found = cur.rows(_RUNS, {"run_keys": run_keys}, RunEvidence)
    return [run.with_gpus(tuple(each[run.run_key]), tuple(faults[run.run_key])) for run in found]


def open_rules(cur: Cursor, run_keys: list[int]) -> dict[int, set[str]]:
    """Returns the rules of the open findings of each run that has any."""
    opened: defaultdict[int, set[str]] = defaultdict(set)
    for run_key, rule in cur.tuples(
        "SELECT run_key, rule FROM finding WHERE closed_ms IS NULL AND run_key IN (SELECT unnest($1))", [run_keys]
    ):
        opened[run_key].add(rule)
    return opened
