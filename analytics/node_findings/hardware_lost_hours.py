"""Work that a node, a GPU or the scheduler ended: hours that were held for nothing, and nobody's doing."""

from typing import Final

from analytics.model import HOUR_MS, MINUTE_MS, Window
from analytics.node_findings.registry import Seen, node_rule
from analytics.wording import format_gpu_h, plural
from store.database import Cursor

FAULT_MS: Final = 10 * MINUTE_MS
"""A fault this shortly before the end of a run that did not complete ended it."""

FAULTS: Final = ("gpu_lost", "xid", "ecc_uncorrectable", "driver_missing")
_WORDS: Final = {"node": "its node failed", "preempted": "of preemption", "fault": "a GPU reported a fault"}

_LOST: Final = f"""
WITH ended AS (
    SELECT run_key, end_ms, CASE
        WHEN starts_with(state, 'NODE_FAIL') OR starts_with(state, 'BOOT_FAIL') THEN 'node'
        WHEN starts_with(state, 'PREEMPTED') THEN 'preempted'
        WHEN state <> 'COMPLETED' AND EXISTS (
            FROM event JOIN allocation ON allocation.node_key = event.node_key AND allocation.run_key = run.run_key
                 AND (event.gpu_key IS NULL OR event.gpu_key = allocation.gpu_key)
            WHERE event.kind IN (SELECT unnest($faults)) AND event.ts_ms <= run.end_ms
              AND event.ts_ms > run.end_ms - $fault_ms) THEN 'fault' END AS cause
    FROM run WHERE end_ms >= $start AND end_ms < $end AND kind = 'job')
SELECT node.cluster, node.name, cause, min(ended.end_ms), max(ended.end_ms), count(DISTINCT run_key),
       sum(h.held_ms * gpu.slices::DOUBLE / gpu.slices_of) / {HOUR_MS} AS gpu_h
FROM ended JOIN gpu_hour h USING (run_key) JOIN gpu USING (gpu_key) JOIN node ON node.node_key = h.node_key
WHERE cause IS NOT NULL AND h.hour_ms >= $start AND h.hour_ms < $end
GROUP BY node.cluster, node.name, cause ORDER BY ALL"""  # noqa: S608 - a constant


@node_rule(
    title="Hours of work cut off",
    order=60,
    fix="See the node's events and its kernel log; drain it if it happens again.",
)
def hardware_lost_hours(cur: Cursor, window: Window, _as_of_ms: int) -> list[Seen]:
    """Runs that ended in NODE_FAIL, BOOT_FAIL or PREEMPTED, or not completed within 10 min of a fault."""
    asked = {"start": window.start_ms, "end": window.end_ms, "faults": list(FAULTS), "fault_ms": FAULT_MS}
    return [
        Seen(
            cluster=cluster,
            node=node,
            start_ms=start_ms,
            end_ms=end_ms,
            gpu_h=gpu_h,
            sentence=f"{plural(count, 'job')} ended because {_WORDS[cause]}; {format_gpu_h(gpu_h)} had been held here.",
        )
        for cluster, node, cause, start_ms, end_ms, count, gpu_h in cur.tuples(_LOST, asked)
    ]
