"""Nodes by rack, for clusters of more nodes than a page can draw: what a host name has before its last number."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec
from ClusterShell.NodeSet import NodeSet

from analytics.queries.nodes import NodeRow

MOST_NODES: Final = 64
"""Nodes drawn one by one; above that they are drawn by group, and no group has more."""

OTHERS: Final = "others"
"""Key of the nodes that share their name's beginning with nobody."""

# dgx-a100-017 is the 17th of dgx-a100; a domain behind the number says nothing about the rack.
_NUMBERED: Final = re.compile(r"^(.*?)[-_.]?(\d+)(\..*)?$", re.DOTALL)


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """At most MOST_NODES nodes, by name.

    ``name`` is their range, such as ``a100-[01-30]``; ``key`` stands in addresses and stays when nodes are added.
    ``states`` counts GPUs by their state now.
    """

    key: str
    name: str
    nodes: list[NodeRow]
    states: dict[str, int]

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        return sum(self.states.values())

    @property
    def silent(self) -> int:
        """Nodes of which nothing is known now."""
        return sum(node.silent for node in self.nodes)


def group_nodes(nodes: Sequence[NodeRow]) -> list[NodeGroup]:
    """Returns the nodes in groups by key; a rack of more than MOST_NODES is several: ``n``, ``n.2`` and so on."""
    by_rack: dict[str, list[NodeRow]] = defaultdict(list)
    for node in nodes:
        by_rack[rack(node.name)].append(node)
    alone = [rack for rack, members in by_rack.items() if len(members) == 1 and rack != OTHERS]
    for name in alone if len(alone) > 1 else ():
        by_rack[OTHERS] += by_rack.pop(name)
    found = []
    for key, members in sorted(by_rack.items()):
        members.sort(key=lambda node: node.name)
        for number, start in enumerate(range(0, len(members), MOST_NODES)):
            part = members[start : start + MOST_NODES]
            found.append(_group(f"{key}.{number + 1}" if number else key, part))
    return found


def rack(node: str) -> str:
    """Returns what the name of a node has before its last number, OTHERS where that is nothing."""
    numbered = _NUMBERED.match(node)
    return (numbered[1] if numbered else node) or OTHERS


def _group(key: str, nodes: list[NodeRow]) -> NodeGroup:
    states = Counter(gpu.state for node in nodes for gpu in node.gpu_now)
    return NodeGroup(key=key, name=_folded([node.name for node in nodes]), nodes=nodes, states=dict(states))


def _folded(names: list[str]) -> str:
    """The names as Slurm and ClusterShell write them; those that are no node's are left as they are."""
    if all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in names):
        return str(NodeSet.fromlist(names))
    return ",".join(names)
