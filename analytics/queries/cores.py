"""What a run did on the cores of its nodes over time."""

from typing import Final

import msgspec

from analytics.model import MINUTE_MS, Viewer
from analytics.queries.rollup import floor
from analytics.queries.scope import Condition, fill, visible
from store.database import Cursor


class NodeCores(msgspec.Struct, frozen=True, kw_only=True):
    """One node: ``at_ms`` is the start of each bucket, ``busy_cores`` CPU time by time, None where none was read.

    Where buckets are shorter than a minute, all of a minute have its mean: nothing finer is kept.
    """

    node: str
    at_ms: list[int]
    busy_cores: list[float | None]
    mem_max_mib: int | None


_MINUTES: Final = """
    SELECT n.name AS node, m.minute_ms // $width AS bucket, CAST(sum(m.cpu_ms) AS BIGINT) AS cpu_ms,
        CAST(sum(m.span_ms) AS BIGINT) AS span_ms, max(m.mem_max_mib) AS mem_max_mib
    FROM host_minute m JOIN run r ON r.run_key = m.run_key JOIN node n ON n.node_key = m.node_key
    WHERE m.run_key = $run AND m.minute_ms >= r.start_ms - 60000 AND {where}
    GROUP BY n.name, bucket ORDER BY n.name, bucket"""


def cores(cur: Cursor, viewer: Viewer, run_key: int, step_ms: int) -> list[NodeCores]:
    """Returns the nodes of a run with a reading, by name; buckets of ``step_ms`` lie on the same grid for all.

    Args:
        cur: the store.
        viewer: who asks; of a run that is not theirs there is nothing.
        run_key: the run.
        step_ms: width of a bucket, that of the series shown beside it.
    """
    width = max(step_ms, MINUTE_MS)
    where = visible(viewer) & Condition("TRUE", {"run": run_key, "width": width})
    found: dict[str, dict[int, float | None]] = {}
    memory: dict[str, list[int]] = {}
    for node, bucket, cpu_ms, span_ms, mem_mib in cur.tuples(fill(_MINUTES, where=where.sql), where.params):
        found.setdefault(node, {})[bucket] = cpu_ms / span_ms if span_ms else None
        memory.setdefault(node, []).extend([] if mem_mib is None else [mem_mib])
    return [_node(name, buckets, memory[name], width, step_ms) for name, buckets in found.items()]


def _node(name: str, buckets: dict[int, float | None], memory: list[int], width: int, step_ms: int) -> NodeCores:
    first_ms, end_ms = min(buckets) * width, (max(buckets) + 1) * width
    at_ms = list(range(floor(first_ms, step_ms), end_ms, step_ms))
    return NodeCores(
        node=name,
        at_ms=at_ms,
        busy_cores=[buckets.get(at // width) for at in at_ms],
        mem_max_mib=max(memory, default=None),
    )
