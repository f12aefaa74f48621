"""What readings of the simulated cluster's inventory would say: as the probe does, what is new and hourly all."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from gpuledger.demo.accounting import MIB_PER_GIB
from gpuledger.demo.cluster import DAY_S, HOUR_S, NAME, Cluster
from gpuledger.demo.incidents import Closure, Incidents
from gpuledger.demo.people import PEOPLE
from gpuledger.demo.scheduling import EPILOG_S, Run
from store.segment import (
    AccountSeen,
    AccountUsage,
    GpuGroup,
    InventoryReading,
    NodeSeen,
    PartitionSeen,
    ReservationSeen,
    standing,
)

EVERY_S: Final = 300
NOTICED_S: Final = 240  # until slurmctld calls a dead node down
GIB_PER_GPU: Final = 128
VERSION: Final = "24.11.5"
_CALLS: Final = 2  # for nodes; two more once in a while for partitions and reservations

_Counts = npt.NDArray[np.int64]


class Inventory:
    """The inventory over the whole life of a cluster."""

    def __init__(self, runs: Iterable[Run], cluster: Cluster, broken: Incidents) -> None:
        self._cluster = cluster
        self._broken = broken
        self._runs = list(runs)
        changes: list[list[tuple[int, int, int, int]]] = [[] for _ in cluster.nodes]
        for run in self._runs:
            family, gpus = run.request.family, run.request.gpus_per_node
            cores, gib = family.cores_per_gpu * gpus, family.mem_gib_per_gpu * gpus
            for node in run.nodes:
                changes[node] += [(run.start_s, gpus, cores, gib), (run.end_s + EPILOG_S, -gpus, -cores, -gib)]
        self._changes = [np.array(sorted(each), np.int64).reshape(-1, 4) for each in changes]

    def readings(self, from_s: int, to_s: int) -> Iterator[InventoryReading]:
        """Yields the readings of [from_s, to_s)."""
        times_s = np.arange(-(-from_s // EVERY_S) * EVERY_S, to_s, EVERY_S, dtype=np.int64)
        words: list[list[NodeSeen]] = [[] for _ in times_s]
        for node in range(len(self._cluster.nodes)):
            for index, word in self._words(node, times_s):
                words[index].append(word)
        for at_s, nodes in zip(map(int, times_s), words, strict=True):
            whole = at_s % HOUR_S == 0
            yield InventoryReading(
                at_ms=at_s * 1000,
                nodes=tuple(nodes),
                partitions=self._partitions() if whole else (),
                reservations=tuple(self._reservations(at_s)) if whole else (),
                accounts=_ACCOUNTS if whole else (),
                usage=self._usage(at_s - HOUR_S - DAY_S) if at_s % DAY_S == HOUR_S else (),
                calls=2 * _CALLS if at_s % (2 * EVERY_S) == 0 else _CALLS,
            )

    def _usage(self, day_s: int) -> tuple[AccountUsage, ...]:
        """Returns what sreport counts for a day of UTC; it has rolled the day up an hour later."""
        used: Counter[str] = Counter()
        for run in self._runs:
            seconds = min(run.end_s, day_s + DAY_S) - max(run.start_s, day_s)
            if seconds > 0:
                used[PEOPLE[run.request.family.user].account] += seconds * len(run.places)
        return tuple(
            AccountUsage(cluster=NAME, account=account, day_ms=day_s * 1000, gpu_s=gpu_s)
            for account, gpu_s in sorted(used.items())
        )

    def _words(self, node: int, times_s: _Counts) -> Iterator[tuple[int, NodeSeen]]:
        """Yields what is said of a node, by the place of its moment in ``times_s``."""
        before: NodeSeen | None = None
        used = self._used(node, np.concatenate([times_s[:1] - EVERY_S, times_s]))
        for index, at_s in enumerate([int(times_s[0]) - EVERY_S, *map(int, times_s)] if len(times_s) else []):
            word = self._word(node, at_s, *map(int, used[index]))
            told = at_s % HOUR_S == 0 or standing(word.state, word.flags) != "up" or _said(word) != _said(before)
            if index and told:
                yield index - 1, word
            before = word

    def _used(self, node: int, times_s: _Counts) -> _Counts:
        """Returns GPUs, cores and GiB in use at each moment."""
        changes = self._changes[node]
        sums = np.zeros((len(changes) + 1, 3), np.int64)
        np.cumsum(changes[:, 1:], axis=0, out=sums[1:])
        found: _Counts = sums[np.searchsorted(changes[:, 0], times_s, "right")]
        return found

    def _word(self, node: int, at_s: int, gpus_used: int, cpus_used: int, gib_used: int) -> NodeSeen:
        here, gpus = self._cluster.nodes[node], self._cluster.gpus_per_node
        state = "IDLE" if not gpus_used else "ALLOCATED" if gpus_used >= gpus else "MIXED"
        flags: tuple[str, ...] = ()
        reason, reason_s = None, None
        closure = self._closure(node, at_s)
        if any(span.node == node and span.start_s + NOTICED_S <= at_s < span.end_s for span in self._broken.down):
            state, flags, reason, gpus_used = "DOWN", ("NOT_RESPONDING",), "Not responding", 0
        elif closure is not None:
            flag = {"drained": "DRAIN", "maintenance": "MAINTENANCE", "reserved": "RESERVED"}[closure.kind]
            flags = (flag,)
            if closure.kind == "drained":
                reason, reason_s = closure.name, closure.start_s
        return NodeSeen(
            name=here.name,
            at_ms=at_s * 1000,
            state=state,
            flags=flags,
            gpus=(GpuGroup(type=here.model.gres, count=gpus),),
            gpus_used=gpus_used,
            cpus=here.model.cores_per_gpu * gpus,
            cpus_used=min(cpus_used, here.model.cores_per_gpu * gpus),
            mem_mib=GIB_PER_GPU * MIB_PER_GIB * gpus,
            mem_used_mib=min(gib_used, GIB_PER_GPU * gpus) * MIB_PER_GIB,
            partitions=tuple(name for name, part in self._cluster.partitions.items() if node in part.nodes),
            reason=reason,
            reason_ms=None if reason_s is None else reason_s * 1000,
            version=VERSION,
        )

    def _closure(self, node: int, at_s: int) -> Closure | None:
        closed = (each for each in self._broken.closed if node in each.nodes and each.start_s <= at_s < each.end_s)
        return next(closed, None)

    def _partitions(self) -> tuple[PartitionSeen, ...]:
        return tuple(
            PartitionSeen(
                name=part.name,
                nodes=tuple(self._cluster.nodes[node].name for node in part.nodes),
                max_time_s=part.max_time_s,
                is_default=number == 0,
                state="UP",
            )
            for number, part in enumerate(self._cluster.partitions.values())
        )

    def _reservations(self, at_s: int) -> Iterator[ReservationSeen]:
        """Yields those that are set up, a day ahead, and not over."""
        for closure in self._broken.closed:
            if closure.kind != "drained" and closure.start_s - 24 * HOUR_S <= at_s < closure.end_s:
                yield ReservationSeen(
                    name=closure.name,
                    start_ms=closure.start_s * 1000,
                    end_ms=closure.end_s * 1000,
                    nodes=tuple(self._cluster.nodes[node].name for node in closure.nodes),
                    flags=("IGNORE_JOBS", "MAINT") if closure.kind == "maintenance" else (),
                )


_ACCOUNTS: Final = (
    AccountSeen(cluster=NAME, name="root"),
    *(
        AccountSeen(cluster=NAME, name=account, parent="root")
        for account in sorted({person.account for person in PEOPLE.values()})
    ),
)


def _said(word: NodeSeen | None) -> tuple[object, ...]:
    """Returns what makes a word news: all of it but its moment."""
    return () if word is None else (word.state, word.flags, word.gpus_used, word.cpus_used, word.mem_used_mib)
