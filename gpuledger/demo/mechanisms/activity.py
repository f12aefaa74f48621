"""What one GPU does during a run: levels that hold between moments."""

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from gpuledger.demo.noise import Floats, floats

# Columns of Activity.levels. BUSY: share of time in which a kernel runs. AWAKE: share of the driver's readings (one
# covers about 1/6 s) that see any of it. SM, TENSOR, DRAM: activity over all time. RX, TX: MiB a second over PCIe, seen
# from the GPU; LINK: over NVLink, as much in both directions. JITTER: relative spread of BUSY.
BUSY: Final = 0
AWAKE: Final = 1
SM: Final = 2
TENSOR: Final = 3
DRAM: Final = 4
RX: Final = 5
TX: Final = 6
LINK: Final = 7
MEM_MIB: Final = 8
PROCESSES: Final = 9
JITTER: Final = 10
FIELDS: Final = 11


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """One row of levels; the default is a GPU that nobody touches."""

    busy: float = 0.0
    awake: float = 0.0
    sm: float = 0.0
    tensor: float = 0.0
    dram: float = 0.0
    rx: float = 0.0
    tx: float = 0.0
    link: float = 0.0
    mem_mib: float = 0.0
    processes: int = 0
    jitter: float = 0.0

    def row(self) -> tuple[float, ...]:
        """The columns of Activity.levels, in order."""
        return (
            self.busy, self.awake, self.sm, self.tensor, self.dram, self.rx, self.tx, self.link, self.mem_mib,
            float(self.processes), self.jitter,
        )  # fmt: skip


UNTOUCHED = Level()


class Activity(msgspec.Struct, frozen=True):
    """``levels[i]`` holds from ``edges_s[i]`` to ``edges_s[i + 1]``, in seconds since the run began.

    Shapes (n, FIELDS) and (n + 1,).
    """

    edges_s: Floats
    levels: Floats

    @property
    def idle_s(self) -> float:
        """Seconds in which no kernel runs at all."""
        return float(np.diff(self.edges_s)[self.levels[:, BUSY] == 0].sum())

    @property
    def used(self) -> bool:
        """Whether any kernel runs at all."""
        return bool((self.levels[:, BUSY] > 0).any())

    @property
    def resting_s(self) -> float:
        """Seconds at the end in which no kernel runs at all."""
        working = np.flatnonzero(self.levels[:, BUSY] > 0)
        return float(self.edges_s[-1] - self.edges_s[working[-1] + 1 if working.size else 0])

    def lasting(self, seconds: float) -> "Activity":
        """Returns the same, ended at ``seconds``, or held on to it where the run took a little longer."""
        kept = max(1, int(np.searchsorted(self.edges_s[:-1], seconds, "left")))
        edges = self.edges_s[: kept + 1].copy()
        edges[-1] = seconds
        return Activity(edges, self.levels[:kept])


def lay(stretches: Iterable[tuple[float, Level]], total_s: float) -> Activity:
    """Lays stretches of (seconds, level) end to end and cuts or extends the last one to ``total_s``."""
    lengths: list[float] = []
    rows: list[tuple[float, ...]] = []
    at = 0.0
    for seconds, level in stretches:
        length = min(seconds, total_s - at)
        if length > 0:
            lengths.append(length)
            rows.append(level.row())
            at += length
    if not rows:
        lengths, rows, at = [total_s], [UNTOUCHED.row()], total_s
    edges = np.concatenate(([0.0], np.cumsum(floats(lengths))))
    edges[-1] = total_s
    return Activity(edges, floats(rows))
