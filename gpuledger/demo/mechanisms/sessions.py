"""Notebooks and remote editors: a person thinks, runs a cell, thinks, goes home."""

from collections.abc import Iterator

import msgspec
import numpy as np

from gpuledger.demo.labels import Label
from gpuledger.demo.mechanisms.activity import UNTOUCHED, Activity, Level, lay
from gpuledger.demo.mechanisms.course import Course, Placement
from gpuledger.demo.noise import lognormal

ARRIVES_H, LEAVES_H = 8, 19
DATA_MIB_S = 180.0  # a cell reads its data anew while its kernels run
HOUR_S, DAY_S = 3600, 86_400


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """Medians of thinking and of a cell's kernels; a kernel restart now and then frees the memory.

    ``goes_home``: the session stays open overnight. Who does not go home ends it when the work is done.
    """

    think_s: float
    cell_s: float
    busy: float = 0.7
    memory_ratio: float = 0.35
    restart: float = 0.04
    cpu_ratio: float = 0.04
    goes_home: bool = True
    label: Label = Label.SESSION_OPEN

    def course(self, rng: np.random.Generator, work_s: float) -> Course:
        """A session lasts as long as it is left open."""
        return Course(setup_s=float(rng.uniform(20, 240)), work_s=work_s, label=self.label)

    def activities(self, rng: np.random.Generator, course: Course, placement: Placement) -> tuple[Activity, ...]:
        """Only the first GPU is used: a notebook rarely spreads."""
        first = lay(self._stretches(rng, course, placement), course.total_s)
        others = lay([], course.total_s)
        return tuple(first if gpu == 0 else others for gpu in range(placement.gpus))

    def _stretches(
        self, rng: np.random.Generator, course: Course, placement: Placement
    ) -> Iterator[tuple[float, Level]]:
        yield course.setup_s, UNTOUCHED
        held_mib = 0.0
        at = placement.start_s + course.setup_s
        end = placement.start_s + course.total_s
        while at < end:
            away_s = self._away_s(at) if self.goes_home else 0.0
            think = away_s or lognormal(rng, self.think_s, 0.8)
            yield think, Level(mem_mib=held_mib, processes=int(held_mib > 0))
            cell = lognormal(rng, self.cell_s, 0.9)
            if rng.random() < self.restart:
                held_mib = 0.0
            held_mib = max(held_mib, self.memory_ratio * placement.model.mem_total_mib * rng.uniform(0.5, 1.1))
            busy = self.busy * rng.uniform(0.6, 1.2)
            yield cell, Level(
                busy=min(busy, 0.98), awake=min(1.0, busy + 0.25), sm=busy * 0.5, tensor=busy * 0.12, dram=busy * 0.25,
                rx=busy * DATA_MIB_S, tx=busy * DATA_MIB_S * 0.1, mem_mib=held_mib, processes=1, jitter=0.25,
            )  # fmt: skip
            at += think + cell

    @staticmethod
    def _away_s(at: float) -> float:
        """Seconds until the person is back, 0 while at the desk."""
        hour = at % DAY_S / HOUR_S
        if ARRIVES_H <= hour < LEAVES_H:
            return 0.0
        return ((ARRIVES_H - hour) % 24) * HOUR_S
