"""What a rule gets to see of a run, and what it may answer. Plain data: a rule reads no database and no clock."""

from enum import StrEnum
from typing import Self

import msgspec

from analytics.model import Confidence
from analytics.sbatch import GpuRequest


class GpuEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU of a run, from its footprint; times in milliseconds within the allocation."""

    run_key: int
    gpu_key: int
    share: float = 1.0  # of a physical GPU: a MIG instance's slices
    held_ms: int
    covered_ms: int
    active_ms: int = 0
    low_ms: int = 0
    idle_held_ms: int = 0
    idle_ms: int = 0
    parked_ms: int = 0  # of idle_held_ms, with half of the memory or more held
    busy_ms: int = 0
    used: bool = False  # more than an isolated blip
    gaps_closed: bool | None = None
    longest_gap_ms: int = 0
    util_mean_pct: float | None = None
    util_p95_pct: float | None = None
    sm_p95_pct: float | None = None
    engine_p95_pct: float | None = None  # of the video engines
    mem_p99_mib: float | None = None
    model: str | None = None
    throttled_ms: int = 0
    hollow_ms: int = 0  # looks busy and does little, in stretches; the longest of them, and from the first to the last
    hollow_longest_ms: int = 0
    hollow_from_ms: int | None = None
    hollow_to_ms: int | None = None
    hollow_sm_pct: float | None = None  # None: told by power, not by counters
    hollow_power_w: float | None = None
    rest_power_w: float | None = None  # at rest with a context
    hollow_unsaid_ms: int = 0

    @property
    def all_idle_ms(self) -> int:
        """Idle time, memory held or not."""
        return self.idle_held_ms + self.idle_ms

    def idle_on(self, idle_ms: int) -> Self:
        """Returns the GPU after this much more idle time; whether memory is held meanwhile is not asked."""
        return msgspec.structs.replace(
            self,
            held_ms=self.held_ms + idle_ms,
            covered_ms=self.covered_ms + idle_ms,
            idle_ms=self.idle_ms + idle_ms,
        )


class RunEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """One run: what accounting says of it and its footprint. ``end_ms`` is the data's end while it runs."""

    run_key: int
    kind: str
    cluster: str
    job_id: str
    job_id_raw: str
    state: str
    user: str | None = None
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    name: str | None = None
    interactive: bool | None = None
    shared: bool = False
    untold_ms: int | None = None  # suspended, and it is not known when
    paused_ms: int = 0  # suspended, and it is known when
    nodes: int | None = None
    start_ms: int
    end_ms: int
    finished: bool
    gpus: int
    gpus_seen: int
    gpus_active: int
    gpus_requested: int | None = None
    held_ms: int
    covered_ms: int
    coverage: float
    watched_ratio: float | None = None
    min_rows: int
    util_mean_pct: float | None = None
    leading_idle_ms: int | None = None
    trailing_idle_ms: int | None = None
    recent_idle_ms: int | None = None
    idle_together_ms: int | None = None  # all GPUs idle at once
    last_row_ms: int | None = None
    interval_ms: int = 0
    cpu_efficiency: float | None = None
    cpu_source: str | None = None
    cores_per_gpu: float | None = None  # CPUs as Slurm counts them: cores, or threads where it hands out threads
    node_cores_per_gpu: float | None = None  # of the node with the fewest
    timelimit_ms: int | None = None
    timelimit_unlimited: bool = False
    family_completed: int = 0  # runs of the family up to this one, in the order in which they ended
    family_timeouts: int = 0
    family_longest_ms: int = 0  # whatever became of it
    measurable: bool = True
    faults: tuple[str, ...] = ()
    each: tuple[GpuEvidence, ...] = ()

    @property
    def length_ms(self) -> int:
        """From start to end, or to the data's end, less the time for which it is known to have been suspended."""
        return self.end_ms - self.start_ms - self.paused_ms

    @property
    def held_gpu_ms(self) -> int:
        """Held time in milliseconds of physical GPUs; a GPU that was not seen counts as a whole one."""
        unseen_ms = (self.gpus - len(self.each)) * self.length_ms
        return round(sum(gpu.held_ms * gpu.share for gpu in self.each)) + unseen_ms

    @property
    def idle_gpu_ms(self) -> int:
        """Idle time in milliseconds of physical GPUs."""
        return round(sum(gpu.all_idle_ms * gpu.share for gpu in self.each))

    @property
    def request(self) -> GpuRequest:
        """What the run asked for, as far as known; else what it holds."""
        return GpuRequest(nodes=max(1, self.nodes or 1), gpus=self.gpus_requested or self.gpus)

    @property
    def answered_for(self) -> Self:
        """Returns the run with as many GPUs as were asked for: those that came with the node are nobody's doing.

        Which ones they are is not known; those that did least are left out, which is kind to the user.
        """
        asked = self.gpus_requested
        if not asked or asked >= len(self.each):
            return self
        most = sorted(self.each, key=lambda gpu: (-gpu.busy_ms, gpu.all_idle_ms, gpu.gpu_key))[:asked]
        read = [gpu for gpu in most if gpu.util_mean_pct is not None]
        read_ms = sum(gpu.covered_ms for gpu in read)
        sum_pct = sum((gpu.util_mean_pct or 0.0) * gpu.covered_ms for gpu in read)
        return msgspec.structs.replace(
            self,
            gpus=asked,
            gpus_seen=asked,
            gpus_active=sum(gpu.used for gpu in most),
            held_ms=sum(gpu.held_ms for gpu in most),
            covered_ms=sum(gpu.covered_ms for gpu in most),
            util_mean_pct=sum_pct / read_ms if read_ms else None,
            each=tuple(sorted(most, key=lambda gpu: gpu.gpu_key)),
        )

    def with_gpus(self, each: tuple[GpuEvidence, ...], faults: tuple[str, ...]) -> Self:
        """Returns the run with its GPUs and with what went wrong on their nodes meanwhile."""
        return msgspec.structs.replace(self, each=each, faults=faults)

    def among(self, completed: int, timeouts: int, longest_ms: int) -> Self:
        """Returns the run among those of its family that ended before it, itself counted."""
        return msgspec.structs.replace(
            self, family_completed=completed, family_timeouts=timeouts, family_longest_ms=longest_ms
        )

    def idle_on(self, idle_ms: int) -> Self:
        """Returns the run as it is when it has gone on being idle for this long since its footprint."""
        if not idle_ms or self.recent_idle_ms is None or self.last_row_ms is None:
            return self
        added = idle_ms * len(self.each)
        return msgspec.structs.replace(
            self,
            end_ms=self.end_ms + idle_ms,
            last_row_ms=self.last_row_ms + idle_ms,
            recent_idle_ms=self.recent_idle_ms + idle_ms,
            idle_together_ms=None if self.idle_together_ms is None else self.idle_together_ms + idle_ms,
            held_ms=self.held_ms + added,
            covered_ms=self.covered_ms + added,
            each=tuple(gpu.idle_on(idle_ms) for gpu in self.each),
        )


class Part(StrEnum):
    """A stretch of a GPU's time in a run; the three together are all of it."""

    HEAD = "head"  # from the start until the first GPU of the run is active
    MIDDLE = "middle"
    TAIL = "tail"  # from the last activity of any GPU of the run until the end


ALL_PARTS = (Part.HEAD, Part.MIDDLE, Part.TAIL)


class Claim(msgspec.Struct, frozen=True):
    """The idle time that a finding explains: of these GPUs, in these parts of the run."""

    gpu_keys: tuple[int, ...]
    parts: tuple[Part, ...] = ALL_PARTS


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The condition of a rule holds. ``sentence`` says what was seen, ``advice`` what to do, ``lines`` can be copied.

    ``numbers`` holds every figure that went into the condition, so that the calculation can be shown again.
    ``must_be_closed`` names the GPUs whose every gap the energy counter has to explain.
    """

    sentence: str
    advice: str
    lines: tuple[str, ...]
    numbers: dict[str, float | int | str | None]
    claim: Claim
    must_be_closed: tuple[int, ...] = ()
    at_most: Confidence = Confidence.HIGH
    busy: "tuple[Taken, ...]" = ()  # time that is not idle and that the finding explains
    start_ms: int | None = None  # of the finding's window; None: the run's
    end_ms: int | None = None


class Undecided(msgspec.Struct, frozen=True):
    """The rule lacks something it needs; ``reason`` says what, in plain words."""

    reason: str


Outcome = Seen | Undecided | None


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """Time that a finding explains on one GPU, in milliseconds of a physical one, and the span it lies in.

    ``between``: what the run holds outside the span is idle throughout, as its head and its tail are. ``busy``: the
    time is not idle time.
    """

    gpu_key: int
    from_ms: int
    to_ms: int
    gpu_ms: int
    between: bool
    busy: bool = False


class Ledger:
    """Idle GPU time of one run that no finding explains yet: a second goes to the first rule that claims it."""

    def __init__(self, run: RunEvidence) -> None:
        self._left: dict[tuple[int, Part], int] = {}
        self._share = {gpu.gpu_key: gpu.share for gpu in run.each}
        active = run.gpus_active > 0
        tail = run.trailing_idle_ms if run.finished else run.recent_idle_ms
        self._spans = _spans(run, (run.leading_idle_ms or 0) if active else 0, tail or 0)
        for gpu in run.each:
            head_ms = min(gpu.all_idle_ms, run.leading_idle_ms or 0) if active else 0
            tail_ms = min(gpu.all_idle_ms - head_ms, tail or 0)
            self._left[gpu.gpu_key, Part.HEAD] = head_ms
            self._left[gpu.gpu_key, Part.TAIL] = tail_ms
            self._left[gpu.gpu_key, Part.MIDDLE] = gpu.all_idle_ms - head_ms - tail_ms
        self._total_ms = sum(self._left.values())

    @property
    def explained_ms(self) -> int:
        """Time that earlier findings took, summed over GPUs; a MIG instance counts as one."""
        return self._total_ms - sum(self._left.values())

    def take(self, claim: Claim) -> list[Taken]:
        """Returns what of the claim was still free; it is taken from now on."""
        taken = []
        for gpu_key in claim.gpu_keys:
            for part in claim.parts:
                left_ms = round(self._left.get((gpu_key, part), 0) * self._share.get(gpu_key, 1.0))
                self._left[gpu_key, part] = 0
                if left_ms:
                    start, end = self._spans[part]
                    between = part is Part.MIDDLE
                    taken.append(Taken(gpu_key=gpu_key, from_ms=start, to_ms=end, gpu_ms=left_ms, between=between))
        return taken


def _spans(run: RunEvidence, head_ms: int, tail_ms: int) -> dict[Part, tuple[int, int]]:
    head_end = min(run.end_ms, run.start_ms + head_ms)
    tail_start = max(head_end, run.end_ms - tail_ms)
    edges = {
        Part.HEAD: (run.start_ms, head_end),
        Part.MIDDLE: (head_end, tail_start),
        Part.TAIL: (tail_start, run.end_ms),
    }
    # Idle time that no part has room for, as after a clock was set, still belongs to the run.
    return {part: edge if edge[0] < edge[1] else (run.start_ms, run.end_ms) for part, edge in edges.items()}
