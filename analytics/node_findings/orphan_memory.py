"""Memory of a GPU that stays in use with neither a program nor a job behind it."""

from typing import Final

from analytics.model import HOUR_MS, MINUTE_MS, Window
from analytics.node_findings.registry import Seen, node_rule
from analytics.unplaced import may_be_held
from analytics.wording import format_duration, format_mib
from store.catalog import BY_NAME
from store.database import Cursor

ORPHAN_MS: Final = 30 * MINUTE_MS
"""Time within an hour from which that hour counts."""

_MEMORY: Final = BY_NAME["mem_used_mib"].per_unit
_LOW: Final = BY_NAME["util_pct"].per_unit  # 1 %

# Stray is memory above the baseline or work while nobody holds the GPU; without a process in the whole hour and without
# work it is memory alone.
_ORPHAN: Final = f"""
WITH each AS (
    SELECT node.cluster, node.name AS node, gpu.idx, h.gpu_key, h.hour_ms, h.stray_ms,
           h.mem_used_mib_max / {_MEMORY:d} AS mem_mib, h.stray_ms * gpu.slices::DOUBLE / gpu.slices_of AS weighed_ms,
           h.hour_ms // {HOUR_MS} - row_number() OVER (PARTITION BY h.gpu_key ORDER BY h.hour_ms) AS stretch
    FROM gpu_hour h JOIN gpu USING (gpu_key) JOIN node ON node.node_key = h.node_key
    WHERE h.run_key IS NULL AND node.slurm AND h.hour_ms >= $start AND h.hour_ms < $end AND h.stray_ms >= $least
      AND h.processes_max = 0 AND coalesce(h.util_pct_max, {_LOW:d}) < {_LOW:d}
      AND NOT {may_be_held("h.gpu_key", "node", "h.hour_ms", f"h.hour_ms + {HOUR_MS}")})
SELECT cluster, node, idx, min(hour_ms), max(hour_ms) + {HOUR_MS}, sum(stray_ms)::BIGINT, max(mem_mib)::DOUBLE,
       sum(weighed_ms) / {HOUR_MS}
FROM each GROUP BY cluster, node, idx, gpu_key, stretch ORDER BY ALL"""  # noqa: S608 - constants


@node_rule(
    title="Memory without a program",
    order=30,
    fix="Look for a program in an uninterruptible state, then reset the GPU: drain the node first.",
)
def orphan_memory(cur: Cursor, window: Window, _as_of_ms: int) -> list[Seen]:
    """Memory above the baseline in hours with no process, no work and no job on that GPU."""
    asked = {"start": window.start_ms, "end": window.end_ms, "least": ORPHAN_MS}
    return [
        Seen(
            cluster=cluster,
            node=node,
            gpu=index,
            start_ms=start_ms,
            end_ms=end_ms,
            gpu_h=gpu_h,
            sentence=f"Up to {format_mib(mem_mib)} were in use for {format_duration(ms)} with no program and no job.",
        )
        for cluster, node, index, start_ms, end_ms, ms, mem_mib, gpu_h in cur.tuples(_ORPHAN, asked)
    ]
