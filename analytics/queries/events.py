"""What happened on nodes and GPUs: lost and found devices, restarts, driver changes."""

from typing import Final

import msgspec

from store.database import Cursor


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at a moment; ``gpu`` is ``node:index``, None where it concerns the node."""

    ts_ms: int
    node: str
    gpu: str | None
    kind: str
    detail: str


_OF_RUN: Final = """
    SELECT e.ts_ms, n.name AS node, e.kind, e.detail,
        if(e.gpu_key IS NULL, NULL, n.name || ':' || coalesce(CAST(g.idx AS VARCHAR), '?')) AS gpu
    FROM event e JOIN node n ON n.node_key = e.node_key LEFT JOIN gpu g ON g.gpu_key = e.gpu_key
    WHERE e.ts_ms >= $start AND e.ts_ms <= $end AND e.node_key IN (SELECT node_key FROM allocation WHERE run_key = $run)
        AND (e.gpu_key IS NULL OR e.gpu_key IN (SELECT gpu_key FROM allocation WHERE run_key = $run))
    ORDER BY e.ts_ms, e.kind LIMIT $limit"""

_OF_NODE: Final = """
    SELECT e.ts_ms, n.name AS node, e.kind, e.detail,
        if(e.gpu_key IS NULL, NULL, n.name || ':' || coalesce(CAST(g.idx AS VARCHAR), '?')) AS gpu
    FROM event e JOIN node n ON n.node_key = e.node_key LEFT JOIN gpu g ON g.gpu_key = e.gpu_key
    WHERE n.name = $node ORDER BY e.ts_ms DESC, e.kind LIMIT $limit"""


def of_run(cur: Cursor, run_key: int, start_ms: int, end_ms: int, limit: int = 200) -> list[EventRow]:
    """Returns what happened on a run's nodes and GPUs between two moments, in order."""
    return cur.rows(_OF_RUN, {"run": run_key, "start": start_ms, "end": end_ms, "limit": limit}, EventRow)


def of_node(cur: Cursor, name: str, limit: int = 100) -> list[EventRow]:
    """Returns the newest events of a node, newest first."""
    return cur.rows(_OF_NODE, {"node": name, "limit": limit}, EventRow)
