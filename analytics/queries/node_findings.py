"""Findings on nodes, for administrators alone: no user is ever told of them, and none is charged with them."""

from analytics.model import Viewer, Window
from analytics.node_findings import NODE_RULES
from analytics.node_findings.registry import NodeFinding
from analytics.queries.site import data_to
from store.database import Cursor

__all__ = ["NodeFinding", "node_findings"]


def node_findings(cur: Cursor, viewer: Viewer, window: Window) -> list[NodeFinding]:
    """Returns what holds in the window, by kind, most GPU-hours first; nothing for others than administrators."""
    as_of_ms = data_to(cur)
    if viewer.kind != "admin" or as_of_ms is None:
        return []
    return [
        finding
        for rule in NODE_RULES
        for finding in sorted(rule.found(cur, window, as_of_ms), key=lambda each: -(each.gpu_h or 0.0))
    ]
