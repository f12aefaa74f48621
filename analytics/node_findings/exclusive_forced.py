"""Partitions that hand out GPUs nobody asked for: whole nodes, or a policy's least number."""

from typing import Final

from analytics.model import HOUR_MS, Window
from analytics.node_findings.registry import Seen, node_rule
from analytics.wording import format_gpu_h, plural
from store.database import Cursor

LEAST_GPU_H: Final = 10.0
"""GPU-hours of the window below which it is not worth a line."""

_FORCED: Final = f"""
WITH held AS (
    SELECT run_key, sum(h.held_ms * coalesce(gpu.slices, 1)::DOUBLE / coalesce(gpu.slices_of, 1)) AS ms
    FROM gpu_hour h LEFT JOIN gpu USING (gpu_key)
    WHERE run_key IS NOT NULL AND hour_ms >= $start AND hour_ms < $end GROUP BY run_key)
SELECT r.cluster, r."partition", min(r.start_ms), max(coalesce(r.end_ms, $end)), count(*),
       sum(held.ms * (r.alloc_gpus - r.req_gpus) / r.alloc_gpus) / {HOUR_MS} AS gpu_h
FROM held JOIN run r USING (run_key)
WHERE r.kind = 'job' AND NOT r.shared AND r.req_gpus IS NOT NULL AND r.alloc_gpus > r.req_gpus
GROUP BY r.cluster, r."partition" HAVING gpu_h >= $least ORDER BY ALL"""  # noqa: S608 - a constant


@node_rule(
    title="GPUs handed out unasked",
    order=50,
    fix="See OverSubscribe, ExclusiveUser and the QOS' MinTRES of the partition: jobs there may share nodes.",
)
def exclusive_forced(cur: Cursor, window: Window, _as_of_ms: int) -> list[Seen]:
    """Jobs of a partition got more GPUs than they asked for."""
    asked = {"start": window.start_ms, "end": window.end_ms, "least": LEAST_GPU_H}
    return [
        Seen(
            cluster=cluster,
            partition=partition,
            start_ms=max(start_ms, window.start_ms),
            end_ms=min(end_ms, window.end_ms),
            gpu_h=gpu_h,
            sentence=f"{plural(count, 'job')} got GPUs that were not asked for, {format_gpu_h(gpu_h)} of them.",
        )
        for cluster, partition, start_ms, end_ms, count, gpu_h in cur.tuples(_FORCED, asked)
    ]
