"""Programs that step: training, simulation, rendering. A step's parts decide how busy the GPU can be."""

from collections.abc import Iterator

import msgspec
import numpy as np

from gpuledger.demo.cluster import BASELINE_MIB, GpuModel
from gpuledger.demo.labels import Label
from gpuledger.demo.mechanisms.activity import UNTOUCHED, Activity, Level, lay
from gpuledger.demo.mechanisms.course import Course, Placement
from gpuledger.demo.noise import lognormal

READING_S = 1 / 6  # one driver reading of the utilization buffer covers about this long
SPIN_FILL = 0.05  # collectives wait in a kernel of a few blocks: the GPU counts as used, few SMs are
LINK_FILL = 0.55  # of a link while a collective runs: ends wait for each other
RESULTS = 0.04  # what goes back to the host for what came from it
SAVED = 0.5  # of the memory held is state that a checkpoint writes
SPREAD = 0.25  # log-normal spread of set-up and after times


class Stops(msgspec.Struct, frozen=True, kw_only=True):
    """Something that interrupts the steps: an evaluation (``ratio`` of a step's load), or a checkpoint (0)."""

    every_s: float
    lasts_s: float
    ratio: float = 0.0


class Stepping(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds per step: kernels, the next batch (brought meanwhile), host work and collectives (after them)."""

    compute_s: float
    load_s: float = 0.0
    host_s: float = 0.0
    exchange_s: float = 0.0
    fill: float = 0.7  # of the SMs while kernels compute
    tensor: float = 0.3
    dram: float = 0.3
    input_mib: float = 60.0  # per step and GPU, from the host
    memory_ratio: float = 0.6  # of the GPU's memory
    jitter: float = 0.03
    cpu_ratio: float = 0.3
    stage_s: float = 0.0  # before any context: copying data, building the environment
    load_model_s: float = 45.0
    stops: Stops | None = None
    used_gpus: int | None = None  # None: all of them
    bystander_mib: int = 0  # what a bare context holds on the GPUs that are not used
    share: tuple[float, ...] = ()  # work of each GPU relative to the busiest, repeated; empty: equal
    after_s: float = 60.0
    sleeps: float = 0.0  # how often the script stays when the work is over
    sleep_s: float = 0.0
    stuck: float = 0.0  # how often a peer dies and the rest spin in a collective
    label: Label = Label.HEALTHY

    def course(self, rng: np.random.Generator, work_s: float) -> Course:
        """Draws set-up, work and what comes after; a sleeping or stuck run ends when someone or the limit ends it."""
        fate = rng.random()
        label, after_s = self.label, lognormal(rng, self.after_s, SPREAD)
        if fate < self.sleeps:
            label, after_s = Label.SLEEPS, lognormal(rng, self.sleep_s, SPREAD)
        elif fate < self.sleeps + self.stuck:
            label, after_s = Label.STUCK, 30 * 86_400.0
        setup_s = lognormal(rng, self.stage_s, SPREAD) if self.stage_s else 0.0
        setup_s += lognormal(rng, self.load_model_s, SPREAD)
        return Course(setup_s=setup_s, work_s=work_s, after_s=after_s, label=label)

    def activities(self, rng: np.random.Generator, course: Course, placement: Placement) -> tuple[Activity, ...]:
        """Lays set-up, steps with their stops, and the end; data-parallel GPUs do the same."""
        used = min(self.used_gpus or placement.gpus, placement.gpus)
        keeps_memory = rng.random() < 0.5
        pace = rng.uniform(0.94, 1.0)
        held_mib = BASELINE_MIB + self.memory_ratio * placement.model.mem_total_mib * rng.uniform(0.96, 1.03)
        shares = self.share or (1.0,)
        plans: dict[float, Activity] = {}
        stop_seed = int(rng.integers(2**31))
        for share in dict.fromkeys(shares[:used]):
            step = self._step(pace * share, held_mib, placement.model, together=placement.gpus > 1)
            stop_rng = np.random.default_rng(stop_seed)  # all GPUs of a run stop together
            plans[share] = lay(self._stretches(stop_rng, course, step, keeps_memory), course.total_s)
        bystander = Level(mem_mib=self.bystander_mib, processes=int(self.bystander_mib > 0))
        start_s = min(course.setup_s, course.total_s)
        unused = lay([(start_s, UNTOUCHED), (course.total_s, bystander)], course.total_s)
        return tuple(plans[shares[gpu % len(shares)]] if gpu < used else unused for gpu in range(placement.gpus))

    def _step(self, pace: float, held_mib: float, model: GpuModel, *, together: bool) -> Level:
        working = self.compute_s * pace + self.exchange_s
        step = max(working, self.load_s, self.compute_s + self.exchange_s) + self.host_s
        gap = step - working
        # What GPUs tell each other goes over NVLink; where there is none, over PCIe.
        exchange = LINK_FILL * self.exchange_s / step if together else 0.0
        beside = 0.0 if model.nvlink_mib_s else exchange * model.pcie_mib_s
        fed = self.input_mib / step
        return Level(
            busy=working / step,
            awake=1.0 if gap < READING_S else min(1.0, (working + READING_S) / step),
            sm=(self.compute_s * pace * self.fill + self.exchange_s * SPIN_FILL) / step,
            tensor=self.compute_s * pace * self.tensor / step,
            dram=self.compute_s * pace * self.dram / step,
            rx=fed + beside,
            tx=fed * RESULTS + beside,
            link=exchange * model.nvlink_mib_s,
            mem_mib=held_mib,
            processes=1,
            jitter=self.jitter,
        )

    def _stretches(
        self, rng: np.random.Generator, course: Course, step: Level, keeps_memory: bool
    ) -> Iterator[tuple[float, Level]]:
        opening_s = min(course.setup_s, 0.6 * self.load_model_s)
        yield course.setup_s - opening_s, UNTOUCHED
        weights_mib = step.mem_mib * 0.4
        yield opening_s, Level(rx=weights_mib / max(opening_s, 1.0), mem_mib=weights_mib, processes=1)
        yield from self._work(rng, course.work_s, step)
        if course.label is Label.STUCK:
            yield course.after_s, Level(busy=1, awake=1, sm=0.018, mem_mib=step.mem_mib, processes=1)
        elif course.label is Label.SLEEPS and keeps_memory:
            yield course.after_s, Level(mem_mib=step.mem_mib, processes=1)
        else:
            yield course.after_s, UNTOUCHED

    def _work(self, rng: np.random.Generator, work_s: float, step: Level) -> Iterator[tuple[float, Level]]:
        if self.stops is None:
            yield work_s, step
            return
        during = _stopped(step, self.stops)
        left = work_s
        while left > 0:
            until_stop = min(left, self.stops.every_s * rng.uniform(0.85, 1.15))
            stop = min(left - until_stop, self.stops.lasts_s * rng.uniform(0.7, 1.4))
            yield until_stop, step
            yield stop, during
            left -= until_stop + stop


def _stopped(step: Level, stops: Stops) -> Level:
    """Returns what goes on during a stop: a part of the step's load, or the copying of a checkpoint to the host."""
    ratio = stops.ratio
    return Level(
        busy=step.busy * ratio,
        awake=step.awake if ratio else 0.0,
        sm=step.sm * ratio,
        tensor=step.tensor * ratio,
        dram=step.dram * ratio,
        rx=step.rx * ratio,
        tx=step.tx * ratio if ratio else SAVED * step.mem_mib / stops.lasts_s,
        link=step.link * ratio,
        mem_mib=step.mem_mib,
        processes=step.processes,
        jitter=step.jitter,
    )
