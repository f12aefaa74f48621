"""Which GPU a position in Slurm's own list of a node's GPUs is."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from store.database import Cursor
from store.segment import NodeGpus

_LISTED_MS: Final = 3_600_000
"""A GPU that its node has not listed for longer than this is not one of its GPUs any more."""


class Orders:
    """The GPUs of some nodes by position, as far as they are known."""

    def __init__(self, gpus: Iterable[tuple[str, int, int, int | None]]) -> None:
        """``gpus`` are (node, node_key, gpu_key, position)."""
        self._by_node: dict[str, dict[int, tuple[int, int | None]]] = defaultdict(dict)
        for node, node_key, gpu_key, position in gpus:
            self._by_node[node][gpu_key] = (node_key, position)

    def gpus(self, place: NodeGpus) -> dict[int, int]:
        """Returns node_key by gpu_key of a run's GPUs on one node; empty where it is not known which they are.

        Without an order there is only one case without doubt: the run has every GPU of the node.
        """
        here = self._by_node.get(place.node, {})
        if not place.positions:
            return {}
        wanted = set(place.positions)
        if len(wanted) == len(here):
            return {gpu_key: node_key for gpu_key, (node_key, _) in here.items()}
        found = {gpu_key: node_key for gpu_key, (node_key, position) in here.items() if position in wanted}
        return found if len(found) == len(wanted) else {}


def load(cursor: Cursor, places: Iterable[NodeGpus]) -> Orders:
    """Returns the orders of the nodes of these places. A GPU cut into MIG instances is none that a run is given."""
    names = sorted({place.node for place in places})
    if not names:
        return Orders(())
    return Orders(
        cursor.tuples(
            """
            SELECT n.name, n.node_key, g.gpu_key, g.position FROM gpu g JOIN node n USING (node_key)
            WHERE n.name IN (SELECT unnest($names::VARCHAR[])) AND g.last_ms >= n.last_ms - $listed
                AND g.uuid NOT IN (SELECT parent_uuid FROM gpu WHERE parent_uuid IS NOT NULL)""",
            {"names": names, "listed": _LISTED_MS},
        )
    )
