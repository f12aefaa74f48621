"""What breaks or is closed: a dead node, a silent agent, a lost GPU, one that runs hot; drains and reservations."""

from typing import Literal

import msgspec
import numpy as np

from gpuledger.demo.cluster import DAY_S, HOUR_S, Cluster
from gpuledger.demo.noise import generator

MINUTE_S = 60
_INCIDENTS = 3
_CLOSURES = 5
SMALLEST_CLUSTER = 4  # nodes; on fewer a fault would be most of what there is to see


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Half open [start_s, end_s), on whole minutes; ``gpu`` None: the whole node."""

    node: int
    gpu: int | None = None
    start_s: int
    end_s: int


Kind = Literal["drained", "maintenance", "reserved"]


class Closure(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes on which nothing begins in [start_s, end_s); what runs there goes on."""

    kind: Kind
    nodes: tuple[int, ...]
    start_s: int
    end_s: int
    name: str  # of the reservation; of a drained node the reason


class Incidents(msgspec.Struct, frozen=True, kw_only=True):
    """All that breaks in the first days. Node 0 is spared: it delivers the accounting."""

    down: tuple[Span, ...] = ()  # node dead: its runs end NODE_FAIL, nothing is recorded
    silent: tuple[Span, ...] = ()  # agent away: runs go on, nothing is recorded
    lost: tuple[Span, ...] = ()  # a GPU answers no call
    hot: tuple[tuple[int, int], ...] = ()  # (node, gpu) with a bad fan all along
    closed: tuple[Closure, ...] = ()


def incidents(cluster: Cluster, seed: int, start_s: int, days: int) -> Incidents:
    """Draws one of each, on different nodes; none on a small cluster."""
    if len(cluster.nodes) < SMALLEST_CLUSTER:
        return Incidents()
    rng = generator(seed, _INCIDENTS)
    nodes = [int(node) for node in rng.permutation(np.arange(1, len(cluster.nodes)))]
    picked = [nodes[index % len(nodes)] for index in range(4)]
    gpu = int(rng.integers(cluster.gpus_per_node))

    def span(node: int, minutes: int, gpu: int | None = None) -> Span:
        at = start_s + int(rng.uniform(0.15, 0.85) * days * DAY_S) // MINUTE_S * MINUTE_S
        return Span(node=node, gpu=gpu, start_s=at, end_s=at + minutes * MINUTE_S)

    return Incidents(
        down=(span(picked[0], 95),),
        silent=(span(picked[1], 62),),
        lost=(span(picked[2], 9 * 60, gpu),),
        hot=((picked[3], gpu),),
        closed=_closures(cluster, seed, start_s, days),
    )


def _closures(cluster: Cluster, seed: int, start_s: int, days: int) -> tuple[Closure, ...]:
    """A node drained for a repair, two in maintenance for a working day, one kept for a course; at full hours."""
    rng = generator(seed, _CLOSURES)
    nodes = [int(node) for node in rng.permutation(np.arange(1, len(cluster.nodes)))]

    def closure(kind: Kind, places: list[int], share: float, hours: int, name: str) -> Closure:
        at_s = start_s + int((share + rng.uniform(0, 0.15)) * days * DAY_S) // HOUR_S * HOUR_S
        return Closure(kind=kind, nodes=tuple(sorted(places)), start_s=at_s, end_s=at_s + hours * HOUR_S, name=name)

    return (
        closure("drained", nodes[:1], 0.2, 26, "fan 3 below 2000 rpm"),
        closure("maintenance", nodes[1:3], 0.45, 8, "firmware"),
        closure("reserved", nodes[2:3], 0.7, 6, "course"),
    )
