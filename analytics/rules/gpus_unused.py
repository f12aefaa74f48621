"""Some of the GPUs that a run asked for did nothing while another one worked."""

from analytics.evidence import Claim, GpuEvidence, Outcome, RunEvidence, Seen, Undecided
from analytics.model import Confidence
from analytics.rules.registry import Context, Params, Seconds, rule
from analytics.wording import format_duration, plural


class GpusUnused(Params, frozen=True, kw_only=True):
    """[analytics.rules.gpus_unused]."""

    min_held_s: Seconds = 900.0
    """Shorter runs are not judged."""
    min_held_running_s: Seconds = 3600.0
    """A run that lasts is not judged before it held its GPUs this long."""
    unused_s: Seconds = 30.0
    """A GPU with less time than this at 1 % or more was not used."""
    other_busy_s: Seconds = 300.0
    """Another GPU of the run must have been at 1 % or more this long."""


@rule(title="{k} of {n} GPUs not used", order=30, params=GpusUnused, running=True, sessions=False, interactive=True)
def gpus_unused(run: RunEvidence, params: GpusUnused, _context: Context) -> Outcome:
    """Finds k of the n requested GPUs below unused_s while another worked for other_busy_s."""
    needed_s = params.min_held_s if run.finished else params.min_held_running_s
    quiet = [gpu for gpu in run.each if gpu.busy_ms < params.unused_s * 1000]
    busiest_ms = max((gpu.busy_ms for gpu in run.each), default=0)
    if run.length_ms < needed_s * 1000 or not quiet or busiest_ms < params.other_busy_s * 1000:
        return None
    if run.gpus_requested is None:
        return Undecided("how many GPUs the job asked for is not known yet")
    if run.gpus_requested < 2:
        return None
    held_memory = any(gpu.idle_held_ms > 0 for gpu in quiet)
    return _seen(run, quiet, busiest_ms, held_memory=held_memory)


def _seen(run: RunEvidence, unused: list[GpuEvidence], busiest_ms: int, *, held_memory: bool) -> Seen:
    requested, count = run.gpus_requested or run.gpus, len(unused)
    keep = requested - count
    span, other = format_duration(run.length_ms), format_duration(busiest_ms)
    sentence = f"{count} of {requested} GPUs did nothing in {span}, while another one worked for {other}."
    if held_memory:
        sentence += " Memory was held on them: check first whether the others read it over NVLink."
    keys = tuple(gpu.gpu_key for gpu in unused)
    return Seen(
        sentence=sentence,
        advice=f"Ask for {plural(keep, 'GPU')} next time, as below, or let the program use them all, for instance with "
        "torchrun --nproc-per-node=gpu.",
        lines=run.request.shrunk(keep).lines(),
        numbers={
            "k": count,
            "n": requested,
            "gpus_held": run.gpus,
            "keep": keep,
            "run_ms": run.length_ms,
            "busiest_gpu_ms": busiest_ms,
            "busiest_unused_gpu_ms": max(gpu.busy_ms for gpu in unused),
            "idle_held_gpu_ms": sum(gpu.idle_held_ms for gpu in unused),
            "idle_empty_gpu_ms": sum(gpu.idle_ms for gpu in unused),
        },
        claim=Claim(keys),
        must_be_closed=keys,
        # Peers may use memory of a GPU that runs no kernel of its own.
        at_most=Confidence.MEDIUM if held_memory else Confidence.HIGH,
    )
