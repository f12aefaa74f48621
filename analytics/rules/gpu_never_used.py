"""A run held GPUs and computed nothing on any of them."""

from typing import Protocol

from analytics.evidence import Claim, Outcome, RunEvidence, Seen, Undecided
from analytics.rules.registry import Context, Params, Ratio, Seconds, rule
from analytics.wording import format_duration, plural


class GpuNeverUsed(Params, frozen=True, kw_only=True):
    """[analytics.rules.gpu_never_used]."""

    min_held_s: Seconds = 900.0
    """Shorter runs are not judged."""
    busy_s: Seconds = 30.0
    """A GPU with less time than this at 1 % or more was not used ..."""
    busy_ratio: Ratio = 0.001
    """... or with less than this share of its held time, whichever is longer."""
    max_cpu_efficiency: Ratio = 0.5
    """From this CPU efficiency on the run computed on the CPU instead: that is cpu_only's."""


class NeverUsedLimits(Protocol):
    """The thresholds that cpu_only shares."""

    @property
    def min_held_s(self) -> float: ...
    @property
    def busy_s(self) -> float: ...
    @property
    def busy_ratio(self) -> float: ...


@rule(title="GPU not used", order=20, params=GpuNeverUsed)
def gpu_never_used(run: RunEvidence, params: GpuNeverUsed, _context: Context) -> Outcome:
    """On every GPU active + low < max(busy_s, busy_ratio of held) or a lone blip, and no busy CPU that is known of."""
    if not never_used(run, params):
        return None
    if run.kind == "job" and run.gpus_requested is None:
        return Undecided("what the job asked for is not known yet, so GPUs that came unasked cannot be told apart")
    if run.cpu_efficiency is not None and run.cpu_efficiency >= params.max_cpu_efficiency:
        return None
    held = any(gpu.idle_held_ms > 0 for gpu in run.each)
    whose = "Its" if run.gpus == 1 else "Their"
    what_held = "Memory was held." if _busiest_ms(run) else "Memory was held, nothing was computed."
    detail = what_held if held else f"{whose} memory stayed empty."
    return unused(run, detail, _advice(run))


def never_used(run: RunEvidence, limits: NeverUsedLimits) -> bool:
    """Whether no GPU of the run did any work worth the name."""
    return run.length_ms >= limits.min_held_s * 1000 and all(
        not gpu.used or gpu.active_ms + gpu.low_ms < max(limits.busy_s * 1000, limits.busy_ratio * gpu.held_ms)
        for gpu in run.each
    )


def unused(run: RunEvidence, detail: str, advice: tuple[str, tuple[str, ...]]) -> Seen:
    """Returns what gpu_never_used and cpu_only have in common: every GPU, the whole run."""
    keys = tuple(gpu.gpu_key for gpu in run.each)
    return Seen(
        sentence=f"{_what(run)} in {format_duration(run.length_ms)}. {detail}",
        advice=advice[0],
        lines=advice[1],
        numbers={
            "run_ms": run.length_ms,
            "gpus": run.gpus,
            "busiest_gpu_ms": max(gpu.active_ms + gpu.low_ms for gpu in run.each),
            "idle_held_gpu_ms": sum(gpu.idle_held_ms for gpu in run.each),
            "idle_empty_gpu_ms": sum(gpu.idle_ms for gpu in run.each),
            "cpu_efficiency": run.cpu_efficiency,
            "cpu_source": run.cpu_source,
        },
        claim=Claim(keys),
        must_be_closed=keys,
    )


def _what(run: RunEvidence) -> str:
    # A few seconds, as a driver call leaves them, are no work, but they are not nothing either.
    span = format_duration(_busiest_ms(run))
    if run.gpus == 1:
        return f"The GPU computed for {span}" if _busiest_ms(run) else "The GPU computed nothing"
    return f"None of the {run.gpus} GPUs computed " + (f"for more than {span}" if _busiest_ms(run) else "anything")


def _busiest_ms(run: RunEvidence) -> int:
    return max(gpu.busy_ms for gpu in run.each)


def _advice(run: RunEvidence) -> tuple[str, tuple[str, ...]]:
    check = 'python -c "import torch; print(torch.cuda.is_available())"'
    if run.kind == "session":
        return (
            "If the program needs no GPU, start it without one; if it should use one, check that it finds it.",
            ("CUDA_VISIBLE_DEVICES= python YOUR_PROGRAM.py", check),
        )
    advice = (
        f"If the program needs no GPU, leave out {request_named(run)} and use a CPU partition; if it should use one, "
        "check that it finds it:"
    )
    return advice, (check,)


def request_named(run: RunEvidence) -> str:
    """Returns the lines that ask for GPUs within a sentence: what is to be left out is nothing to copy."""
    return f"the request for {plural(run.request.gpus, 'GPU')} ({', '.join(run.request.lines())})"
