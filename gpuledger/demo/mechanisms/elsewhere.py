"""Programs that compute elsewhere: on the cores only, or not at all."""

import msgspec
import numpy as np

from gpuledger.demo.labels import Label
from gpuledger.demo.mechanisms.activity import UNTOUCHED, Activity, Level, lay
from gpuledger.demo.mechanisms.course import Course, Placement

BLIP_MIB = 480  # a bare context


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """``looks``: how often a program asks whether a GPU is there. ``reserve_ratio``: memory taken and not used."""

    cpu_ratio: float
    looks: float = 0.5
    reserve_ratio: float = 0.0
    label: Label

    def course(self, rng: np.random.Generator, work_s: float) -> Course:
        """Nothing but the work, wherever it happens."""
        return Course(setup_s=float(rng.uniform(30, 300)), work_s=work_s, label=self.label)

    def activities(self, rng: np.random.Generator, course: Course, placement: Placement) -> tuple[Activity, ...]:
        """At most a short look at the first GPU; a framework may take memory on all of them."""
        held = Level(mem_mib=self.reserve_ratio * placement.model.mem_total_mib, processes=1)
        rest = held if self.reserve_ratio else UNTOUCHED
        quiet = lay([(course.setup_s, UNTOUCHED), (course.work_s, rest)], course.total_s)
        if rng.random() >= self.looks:
            return (quiet,) * placement.gpus
        look = Level(busy=0.06, awake=0.2, sm=0.01, mem_mib=BLIP_MIB, processes=1)
        stretches = [(course.setup_s, UNTOUCHED), (float(rng.uniform(3, 9)), look), (course.work_s, rest)]
        return (lay(stretches, course.total_s), *(quiet,) * (placement.gpus - 1))
