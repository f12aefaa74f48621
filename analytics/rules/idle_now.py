"""A running run whose GPUs are all idle right now."""

from analytics.evidence import Claim, Outcome, Part, RunEvidence, Seen
from analytics.rules.registry import Context, Factor, Params, Seconds, rule
from analytics.wording import format_duration, format_gpu_h, plural


class IdleNow(Params, frozen=True, kw_only=True):
    """[analytics.rules.idle_now]."""

    idle_s: Seconds = 3600.0
    """All GPUs idle for this long, up to now, is a finding."""
    again_s: Seconds = 7200.0
    """From this long on the finding says so again."""
    stay_idle_s: Seconds = 1800.0
    """A finding that is open stays so down to this much, so that it does not come and go."""
    stale_intervals: Factor = 3.0
    """Rows older than this many collection intervals say nothing about now ..."""
    delivery_s: Seconds = 120.0
    """... once this time for closing, sending and working in a segment has passed as well."""


@rule(title="Idle right now", order=50, params=IdleNow, running=True, finished=False, interactive=True)
def idle_now(run: RunEvidence, params: IdleNow, context: Context) -> Outcome:
    """All GPUs idle, memory held or not, over the last idle_s, by rows that are fresh."""
    if run.recent_idle_ms is None or run.last_row_ms is None:
        return None
    if context.now_ms - run.last_row_ms > params.stale_intervals * run.interval_ms + params.delivery_s * 1000:
        return None
    needed_s = params.stay_idle_s if context.was_open else params.idle_s
    if run.recent_idle_ms < needed_s * 1000:
        return None
    span = format_duration(run.recent_idle_ms)
    what = "The GPU has" if run.gpus == 1 else f"{_all(run.gpus)} GPUs have"
    return Seen(
        sentence=f"{what} been idle for the last {span}.{_before(run)}",
        advice=_advice(run),
        lines=(f"scancel {run.job_id}",) if run.kind == "job" else ("nvidia-smi   # lists the programs on each GPU",),
        numbers={
            "recent_idle_ms": run.recent_idle_ms,
            "gpus": run.gpus,
            "run_ms": run.length_ms,
            "last_row_ms": run.last_row_ms,
            "age_ms": context.now_ms - run.last_row_ms,
            "interval_ms": run.interval_ms,
            "level": 2 if run.recent_idle_ms >= params.again_s * 1000 else 1,
        },
        claim=Claim(tuple(gpu.gpu_key for gpu in run.each), (Part.TAIL,)),
        start_ms=run.last_row_ms - run.recent_idle_ms,
        end_ms=run.last_row_ms,
    )


def _before(run: RunEvidence) -> str:
    """What is said of the time before. A lone blip ends no idle stretch, yet nobody is told that it was nothing."""
    if run.gpus_active:
        return ""
    blip_ms = max(gpu.busy_ms for gpu in run.each)
    if blip_ms:
        return f" A single activity of {format_duration(blip_ms)} does not count as use."
    return " It was not used before." if run.gpus == 1 else " None of them was used before."


def _all(gpus: int) -> str:
    return "Both" if gpus == 2 else f"All {gpus}"


def _advice(run: RunEvidence) -> str:
    each_hour = format_gpu_h(float(run.gpus))
    if run.kind == "session":
        return f"If the work is done, end the program: it keeps {plural(run.gpus, 'GPU')} from others."
    return f"If the work is done, release the job; it holds {each_hour} every hour. If it waits, see what it waits for."
