"""Which nodes should report: those of Slurm's inventory, or where there is none those that jobs and data speak of."""

from collections.abc import Iterable
from typing import Final

from ClusterShell.NodeSet import NodeSet, NodeSetParseError

from analytics.model import HOUR_MS
from analytics.queries.slurm_nodes import slurm_nodes
from store.database import Cursor

_WEEK_MS: Final = 7 * 24 * HOUR_MS

_LISTED: Final = """
    SELECT DISTINCT node_list FROM run
    WHERE node_list IS NOT NULL AND alloc_gpus > 0 AND coalesce(end_ms, $since + 1) > $since"""


def expected_nodes(cur: Cursor, reported: Iterable[str], now_ms: int) -> list[str]:
    """Returns the names of nodes that should report, by name.

    Where Slurm lists its nodes, those with GPUs that are not offline: one that was taken away is nobody's trouble.
    Else those that ever did, ``reported``, and those of GPU jobs of the last 7 days.
    """
    said = [node for node in slurm_nodes(cur, now_ms) if node.gpus]
    if said:
        return sorted({node.name for node in said if node.standing != "offline"})
    names = set(reported)
    for (text,) in cur.tuples(_LISTED, {"since": now_ms - _WEEK_MS}):
        try:
            names.update(NodeSet(text))
        except NodeSetParseError:
            continue
    return sorted(names)
