"""What breaks: a node that dies, an agent that is silent for an hour, a GPU that is lost, one that runs hot."""

import msgspec
import numpy as np

from gpuledger.demo.cluster import DAY_S, Cluster
from gpuledger.demo.noise import generator

MINUTE_S = 60
_INCIDENTS = 3
SMALLEST_CLUSTER = 4  # nodes; on fewer a fault would be most of what there is to see


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Half open [start_s, end_s), on whole minutes; ``gpu`` None: the whole node."""

    node: int
    gpu: int | None = None
    start_s: int
    end_s: int


class Incidents(msgspec.Struct, frozen=True, kw_only=True):
    """All that breaks in the first days. Node 0 is spared: it delivers the accounting."""

    down: tuple[Span, ...] = ()  # node dead: its runs end NODE_FAIL, nothing is recorded
    silent: tuple[Span, ...] = ()  # agent away: runs go on, nothing is recorded
    lost: tuple[Span, ...] = ()  # a GPU answers no call
    hot: tuple[tuple[int, int], ...] = ()  # (node, gpu) with a bad fan all along


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
    )
