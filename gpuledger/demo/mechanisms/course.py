"""What every mechanism answers: how a run goes (its course), and what its GPUs do meanwhile."""

from typing import Protocol

import msgspec
import numpy as np

from gpuledger.demo.cluster import GpuModel
from gpuledger.demo.labels import Label
from gpuledger.demo.mechanisms.activity import Activity


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """How long the parts of a run take, were nothing to cut it short."""

    setup_s: float = 0.0
    work_s: float
    after_s: float = 0.0
    label: Label

    @property
    def total_s(self) -> float:
        """Seconds from start to end."""
        return self.setup_s + self.work_s + self.after_s


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when a run runs. ``gpus`` counts all nodes; ``start_s`` is epoch seconds."""

    start_s: int
    gpus: int
    model: GpuModel


class Mechanism(Protocol):
    """How a kind of program uses cores and GPUs."""

    @property
    def label(self) -> Label:
        """What a run of this kind is when nothing goes wrong."""

    @property
    def cpu_ratio(self) -> float:
        """Mean share of its allocated cores that the program keeps busy."""

    def course(self, rng: np.random.Generator, work_s: float) -> Course:
        """Draws the parts of a run whose useful work takes ``work_s``."""

    def activities(self, rng: np.random.Generator, course: Course, placement: Placement) -> tuple[Activity, ...]:
        """Returns what each GPU does, one Activity a GPU, each ``course.total_s`` long."""
