"""Inference servers: requests arrive, by day more than by night, and each takes its service time."""

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from gpuledger.demo.labels import Label
from gpuledger.demo.mechanisms.activity import UNTOUCHED, Activity, Level, lay
from gpuledger.demo.mechanisms.course import Course, Placement
from gpuledger.demo.mechanisms.stepping import READING_S
from gpuledger.demo.noise import lognormal

SLICE_S = 300
REQUEST_MIB_S, ANSWER_MIB_S = 40.0, 12.0  # while kernels run
LINK_FILL = 0.08  # of NVLink, where a model is cut over several GPUs
FEW = 4  # requests in a slice that are told apart
HOUR_S, DAY_S = 3600, 86_400


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """Requests a second at the busiest hour, the share of that left at night, seconds of kernels per request."""

    peak_per_s: float
    night_ratio: float
    service_s: float
    memory_ratio: float = 0.9  # the cache of keys and values is reserved at start
    fill: float = 0.3
    cpu_ratio: float = 0.08
    label: Label = Label.SERVER_USED

    def course(self, rng: np.random.Generator, work_s: float) -> Course:
        """Weights load for some minutes, then the server stays."""
        return Course(setup_s=float(rng.uniform(120, 300)), work_s=work_s, label=self.label)

    def activities(self, rng: np.random.Generator, course: Course, placement: Placement) -> tuple[Activity, ...]:
        """All GPUs share one model, so they work together."""
        activity = lay(self._stretches(rng, course, placement), course.total_s)
        return (activity,) * placement.gpus

    def _stretches(
        self, rng: np.random.Generator, course: Course, placement: Placement
    ) -> Iterator[tuple[float, Level]]:
        held_mib = self.memory_ratio * placement.model.mem_total_mib
        yield course.setup_s * 0.3, UNTOUCHED
        weights_mib = held_mib * 0.5
        yield course.setup_s * 0.7, Level(rx=weights_mib / (course.setup_s * 0.7), mem_mib=weights_mib, processes=1)
        link_mib_s = LINK_FILL * placement.model.nvlink_mib_s if placement.gpus > 1 else 0.0
        starts = np.arange(0.0, course.work_s, SLICE_S) + placement.start_s + course.setup_s
        # Busiest at 14:00, quietest at 02:00.
        by_day = 0.5 - 0.5 * np.cos((starts % DAY_S / HOUR_S - 2) / 24 * 2 * np.pi)
        rate = self.peak_per_s * (self.night_ratio + (1 - self.night_ratio) * by_day)
        for requests in rng.poisson(rate * SLICE_S).tolist():
            if requests <= FEW:
                yield from self._one_by_one(rng, requests, held_mib, link_mib_s)
            else:
                load = requests * self.service_s / SLICE_S  # overlapping requests share kernels
                awake = 1 - math.exp(-load - requests * READING_S / SLICE_S)
                yield SLICE_S, self._level(1 - math.exp(-load), awake, held_mib, link_mib_s)

    def _one_by_one(
        self, rng: np.random.Generator, requests: int, held_mib: float, link_mib_s: float
    ) -> Iterator[tuple[float, Level]]:
        quiet = Level(mem_mib=held_mib, processes=1)
        for _ in range(requests):
            lasts_s = min(lognormal(rng, self.service_s, 0.5), SLICE_S / requests)
            before_s = rng.uniform(0, SLICE_S / requests - lasts_s)
            yield before_s, quiet
            yield lasts_s, self._level(0.95, 1.0, held_mib, link_mib_s)
            yield SLICE_S / requests - before_s - lasts_s, quiet
        if not requests:
            yield SLICE_S, quiet

    def _level(self, busy: float, awake: float, held_mib: float, link_mib_s: float) -> Level:
        return Level(
            busy=busy,
            awake=awake,
            sm=busy * self.fill,
            tensor=busy * self.fill * 0.5,
            dram=busy * 0.6,
            rx=busy * REQUEST_MIB_S,
            tx=busy * ANSWER_MIB_S,
            link=busy * link_mib_s,
            mem_mib=held_mib,
            processes=1,
            jitter=0.2,
        )
