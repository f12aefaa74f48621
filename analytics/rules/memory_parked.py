"""A run kept a model or data in GPU memory and waited for requests most of the time."""

from analytics.evidence import Claim, Outcome, RunEvidence, Seen
from analytics.rules.registry import Context, Params, Ratio, Seconds, rule
from analytics.wording import format_duration, format_pct


class MemoryParked(Params, frozen=True, kw_only=True):
    """[analytics.rules.memory_parked]."""

    parked_s: Seconds = 3600.0
    """Idle time with half of the memory or more held, on every GPU, from which it is a finding ..."""
    parked_ratio: Ratio = 0.5
    """... if it is also at least this share of the idle time ..."""
    waiting_ratio: Ratio = 0.5
    """... and every GPU was idle for this share of the time between the run's first and last work, too."""


@rule(title="Model loaded, no requests", order=55, params=MemoryParked, running=True)
def memory_parked(run: RunEvidence, params: MemoryParked, context: Context) -> Outcome:  # noqa: ARG001 - a rule's signature
    """Every GPU idle for parked_s with half of its memory held, also between the run's first and last work.

    Set-up and a forgotten end are idle before or after the work; what waits for requests is idle in between as well.
    While the run is idle right now, idle_now has the time since its last work and this the rest.
    """
    if not run.gpus_active or not run.each:
        return None
    parked_ms = min(gpu.parked_ms for gpu in run.each)
    idle_ms = min(gpu.all_idle_ms for gpu in run.each)
    if parked_ms < params.parked_s * 1000 or parked_ms < params.parked_ratio * idle_ms:
        return None
    tail_ms = run.trailing_idle_ms if run.finished else run.recent_idle_ms
    outside_ms = (run.leading_idle_ms or 0) + (tail_ms or 0)
    between_ms = run.length_ms - outside_ms
    waited_ms = idle_ms - outside_ms
    if between_ms <= 0 or waited_ms < params.waiting_ratio * between_ms:
        return None
    whose = "The GPU" if run.gpus == 1 else f"Each of the {run.gpus} GPUs"
    return Seen(
        sentence=f"{whose} was idle for {format_duration(idle_ms)}, {format_pct(100 * idle_ms / run.length_ms)} of the "
        f"run, before, between and after short pieces of work; memory was held for {format_duration(parked_ms)} of it.",
        advice="Serve on demand: start it when it is asked for, end it when nobody asks, or let several models share "
        "a GPU.",
        lines=_lines(run),
        numbers={
            "idle_ms": idle_ms,
            "parked_ms": parked_ms,
            "idle_between_ms": waited_ms,
            "between_ms": between_ms,
            "run_ms": run.length_ms,
            "gpus": run.gpus,
        },
        claim=Claim(tuple(gpu.gpu_key for gpu in run.each)),
    )


def _lines(run: RunEvidence) -> tuple[str, ...]:
    if run.kind == "session":
        return ("nvidia-smi   # lists the programs that hold memory",)
    return (
        "sbatch --begin=09:00 --time=08:00:00 YOUR_SCRIPT.sh   # only in the hours in which it is asked",
        "sbatch --time=01:00:00 YOUR_REQUESTS.sh          # or all requests as one job that ends with the last",
    )
