"""A program on a GPU that no job holds: left behind by one, or started past Slurm."""

from typing import Final

from analytics.model import MINUTE_MS, Window
from analytics.node_findings.registry import Seen, node_rule
from analytics.unplaced import may_be_held
from analytics.wording import format_duration, format_mib
from store.database import Cursor
from store.schema import RELEASING_MS

STRAY_MS: Final = 10 * MINUTE_MS
"""Time without a job behind it from which a program is stray."""

# Time that any job held the GPU, and that its end takes, is not looked at: whose the program is may be unknown then.
_STRAY: Final = f"""
WITH lone AS (
    SELECT p.gpu_key, p.name, p.uid, p.pid, p.first_ms, p.last_ms, p.mem_max_mib, p.processes, node.cluster,
           node.name AS node, gpu.idx, p.last_ms - p.first_ms - coalesce((
               SELECT sum(greatest(0, least(p.last_ms, coalesce(a.end_ms, p.last_ms) + {RELEASING_MS})
                                   - greatest(p.first_ms, a.start_ms)))
               FROM allocation a WHERE a.gpu_key = p.gpu_key), 0) AS ms
    FROM process p JOIN gpu USING (gpu_key) JOIN node USING (node_key)
    WHERE p.run_key IS NULL AND node.slurm AND p.first_ms < $end AND p.last_ms > $start
      AND NOT {may_be_held("p.gpu_key", "node", "p.first_ms", "p.last_ms")})
SELECT cluster, node, idx, name, uid, min(first_ms), max(last_ms), max(ms)::BIGINT, max(mem_max_mib),
       sum(processes)::BIGINT
FROM lone WHERE ms >= $least GROUP BY cluster, node, idx, name, uid ORDER BY ALL"""  # noqa: S608 - constants


@node_rule(
    title="Program without a job",
    order=20,
    fix="End it if a job left it behind; pam_slurm_adopt keeps people without a job off the node.",
)
def stray_process(cur: Cursor, window: Window, _as_of_ms: int) -> list[Seen]:
    """A process on a GPU of a Slurm node for 10 min in which no job held that GPU."""
    asked = {"start": window.start_ms, "end": window.end_ms, "least": STRAY_MS}
    return [
        Seen(
            cluster=cluster,
            node=node,
            gpu=index,
            start_ms=start_ms,
            end_ms=end_ms,
            sentence=f"{name} of {'an unknown user' if uid is None else f'user id {uid}'} was there for "
            f"{format_duration(ms)} without a job{'' if mem_mib is None else f', with {format_mib(mem_mib)}'}"
            f"{'' if count < 2 else f', {count} processes of it'}.",
        )
        for cluster, node, index, name, uid, start_ms, end_ms, ms, mem_mib, count in cur.tuples(_STRAY, asked)
    ]
