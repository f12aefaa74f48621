"""What a poll of the simulated scheduler's queue would say, minute by minute."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gpuledger.demo.cluster import Cluster
from gpuledger.demo.scheduling import REQUEUE_S, Run
from store.segment import PendingGpus, QueuePoll

EVERY_S: Final = 60
STANDS_S: Final = 600
"""A poll is sent where it says something new, and at each full ten minutes: it stands until the next of these."""

_Counts = npt.NDArray[np.int64]


class _Key(NamedTuple):
    partition: str
    gpu_type: str  # empty: of several
    waits_for: str


class _Steps:
    """Sums that go up and down at moments, and what they are at others."""

    def __init__(self, changes: list[tuple[int, int, int]]) -> None:
        """``changes`` are (second, jobs more, GPUs more)."""
        sorted_changes = np.array(sorted(changes), np.int64).reshape(-1, 3)
        self._at_s = sorted_changes[:, 0]
        self._sums = np.zeros((len(sorted_changes) + 1, 2), np.int64)
        np.cumsum(sorted_changes[:, 1:], axis=0, out=self._sums[1:])

    def at(self, times_s: _Counts) -> _Counts:
        """Returns jobs and GPUs at each moment, shape (len(times_s), 2)."""
        found: _Counts = self._sums[np.searchsorted(self._at_s, times_s, "right")]
        return found


class Backlog:
    """The queue over the whole life of a cluster."""

    def __init__(self, runs: Iterable[Run], cluster: Cluster) -> None:
        changes: defaultdict[_Key, list[tuple[int, int, int]]] = defaultdict(list)
        held: list[tuple[int, int, int]] = []
        types = {name: _type(cluster, partition.nodes) for name, partition in cluster.partitions.items()}
        for run in runs:
            partition, gpus = run.request.family.partition, run.request.gpus
            # A requeued job has to wait for its begin time first.
            eligible_s = min(run.start_s, run.submit_s + (REQUEUE_S if run.restart else 0))
            for waits_for, from_s, to_s in (
                ("release", run.submit_s, eligible_s),
                ("hardware", eligible_s, run.start_s),
            ):
                if from_s < to_s:
                    key = _Key(partition, types[partition], waits_for)
                    changes[key] += [(from_s, 1, gpus), (to_s, -1, -gpus)]
            held += [(run.start_s, 1, gpus), (run.end_s, -1, -gpus)]
        self._steps = {key: _Steps(changes[key]) for key in sorted(changes)}
        self._held = _Steps(held)

    def polls(self, from_s: int, to_s: int) -> Iterator[QueuePoll]:
        """Yields the polls of [from_s, to_s)."""
        times_s = np.arange(-(-from_s // EVERY_S) * EVERY_S, to_s, EVERY_S, dtype=np.int64)
        if not len(times_s):
            return
        before = np.stack([steps.at(times_s - EVERY_S) for steps in self._steps.values()], axis=1)
        now = np.stack([steps.at(times_s) for steps in self._steps.values()], axis=1)
        held = self._held.at(times_s)[:, 1]
        told = (times_s % STANDS_S == 0) | (before != now).any(axis=(1, 2))
        for index in np.flatnonzero(told):
            at_s = int(times_s[index])
            yield QueuePoll(
                at_ms=at_s * 1000,
                until_ms=(at_s // STANDS_S + 1) * STANDS_S * 1000,
                pending=tuple(
                    PendingGpus(
                        partition=key.partition,
                        gpu_type=key.gpu_type or None,
                        waits_for=key.waits_for,
                        jobs=int(jobs),
                        gpus=int(gpus),
                    )
                    for key, (jobs, gpus) in zip(self._steps, now[index], strict=True)
                    if jobs
                ),
                held_gpus=int(held[index]),
            )


def _type(cluster: Cluster, nodes: Iterable[int]) -> str:
    """Returns the one type of GPU that nodes have."""
    types = {cluster.nodes[node].model.gres for node in nodes}
    return types.pop() if len(types) == 1 else ""
