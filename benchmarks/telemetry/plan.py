"""Which run holds which GPU when."""

from collections.abc import Iterator
from typing import Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

Activity = Literal["steady", "bursty", "idle", "ramp"]

CELL_NODES: Final = 16
"""Nodes that are filled together, so that large fleets cost no more a node than small ones."""
USERS: Final = 200
ACCOUNTS: Final = 17
_SIZES: Final = (1, 2, 4, 8, 16, 32, 64)
_SHARES: Final = (0.38, 0.14, 0.16, 0.20, 0.07, 0.03, 0.02)
_ACTIVITIES: Final[tuple[Activity, ...]] = ("steady", "bursty", "idle", "ramp")
_MIX: Final = (0.50, 0.25, 0.10, 0.15)
_MEDIAN_S: Final = 4_000.0
_SIGMA: Final = 1.6
_SHORTEST_S, _LONGEST_S = 60, 3 * 86_400
_QUEUE_GAP_S: Final = 600.0
_WARM_UP_S: Final = 12 * 3600  # a fleet that has been running: else every GPU waits for its first run at the start

_HOLD: Final = pa.schema(
    {"run": pa.int32(), "node": pa.int32(), "gpu": pa.int32(), "start_ms": pa.int64(), "end_ms": pa.int64()}
)

_Ints = npt.NDArray[np.int64]


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes with GPUs over [from_ms, to_ms), read every ``interval_ms``; the seed decides everything else."""

    nodes: int
    gpus: int = 8
    from_ms: int = 1_790_035_200_000  # 2026-09-22 00:00 UTC
    to_ms: int
    interval_ms: int = 10_000
    jitter_ms: int = 0  # by how much a node's reading comes late, up to this
    seed: int = 7

    @property
    def readings(self) -> int:
        """Readings of each GPU, missed ones included."""
        return (self.to_ms - self.from_ms) // self.interval_ms


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run, clipped to the window; ``end_ms`` None where it lasts beyond. Its place in a plan is its number."""

    user: str
    account: str
    partition: str
    start_ms: int
    end_ms: int | None
    gpus: int
    activity: Activity


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Runs and what they hold.

    ``holds``: run, node, gpu (all from 0; gpu within its node), start_ms, end_ms (NULL: it lasts); by node, gpu, time.
    """

    fleet: Fleet
    runs: tuple[Run, ...]
    holds: pa.Table

    def held(self, node: int) -> list[list[tuple[int, int, int]]]:
        """Return (run, start_ms, end_ms) of the holds of each GPU of a node, in time; open ones end with the window."""
        found: list[list[tuple[int, int, int]]] = [[] for _ in range(self.fleet.gpus)]
        first, last = np.searchsorted(self.holds["node"].to_numpy(), [node, node + 1])
        for hold in self.holds.slice(first, last - first).to_pylist():
            end_ms = self.fleet.to_ms if hold["end_ms"] is None else hold["end_ms"]
            found[hold["gpu"]].append((hold["run"], hold["start_ms"], end_ms))
        return found


def plan(fleet: Fleet) -> Plan:
    """Return the runs of a fleet: 1 to 64 GPUs, lognormal length, a short wait before each."""
    runs: list[Run] = []
    holds: list[tuple[int, int, int, int, int | None]] = []
    for first in range(0, fleet.nodes, CELL_NODES):
        for made, places in _cell(fleet, first):
            for place in places.tolist():
                node, gpu = divmod(place, fleet.gpus)
                holds.append((len(runs), first + node, gpu, made.start_ms, made.end_ms))
            runs.append(made)
    holds.sort(key=lambda hold: hold[1:4])
    columns = list(zip(*holds, strict=True)) or [()] * len(_HOLD)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, _HOLD.types, strict=True)]
    return Plan(fleet=fleet, runs=tuple(runs), holds=pa.Table.from_arrays(arrays, schema=_HOLD))


def _cell(fleet: Fleet, first: int) -> Iterator[tuple[Run, _Ints]]:
    """Yields the runs of the nodes from ``first`` on, with the GPUs of each, counted through all nodes of the cell."""
    length_s = (fleet.to_ms - fleet.from_ms) // 1000
    rng = np.random.default_rng([fleet.seed, first])
    free = np.full((min(CELL_NODES, fleet.nodes - first), fleet.gpus), -_WARM_UP_S, np.int64)
    while free.min() < length_s:
        start_s, end_s, places = _next(rng, free, length_s)
        user, activity = int(rng.zipf(1.6)) % USERS, _ACTIVITIES[rng.choice(4, p=_MIX)]
        if end_s <= 0 or start_s >= length_s:
            continue
        made = Run(
            user=f"user{user:03d}",
            account=f"group{user % ACCOUNTS:02d}",
            partition=("gpu", "long", "debug")[min(2, len(places) % 3)],
            start_ms=fleet.from_ms + 1000 * max(start_s, 0),
            end_ms=fleet.from_ms + 1000 * end_s if end_s < length_s else None,
            gpus=len(places),
            activity=activity,
        )
        yield made, places


def _next(rng: np.random.Generator, free: _Ints, length_s: int) -> tuple[int, int, _Ints]:
    """Takes the GPUs of one more run: start and end in s, places in ``free``, which has when each GPU is free."""
    nodes, gpus = free.shape
    size = min(int(rng.choice(_SIZES, p=_SHARES)), nodes * gpus)
    if size <= gpus:
        each = np.partition(free, size - 1, axis=1)[:, size - 1]
        node = int(each.argmin())
        places = np.argsort(free[node], kind="stable")[:size] + node * gpus
    else:
        chosen = np.argsort(free.max(axis=1), kind="stable")[: -(-size // gpus)]
        places = (chosen[:, None] * gpus + np.arange(gpus)).ravel()
    if free.flat[places].max() >= length_s:  # what is left until the end is too little for it
        places = np.array([free.argmin()])
    start_s = int(free.flat[places].max()) + int(rng.exponential(_QUEUE_GAP_S)) + 1
    lasts_s = int(np.clip(rng.lognormal(np.log(_MEDIAN_S), _SIGMA), _SHORTEST_S, _LONGEST_S))
    free.flat[places] = start_s + lasts_s
    return start_s, start_s + lasts_s, places
