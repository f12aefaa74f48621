"""A run spent its first part setting up while its GPUs waited."""

from analytics.evidence import Claim, Outcome, Part, RunEvidence, Seen
from analytics.rules.registry import Context, Params, Ratio, Seconds, rule
from analytics.wording import format_duration, format_pct


class IdleHead(Params, frozen=True, kw_only=True):
    """[analytics.rules.idle_head]."""

    min_held_s: Seconds = 1800.0
    """Shorter runs are not judged."""
    idle_s: Seconds = 600.0
    """Leading idle time from which it is a finding, if it is also ..."""
    idle_ratio: Ratio = 0.1
    """... at least this share of the run."""


@rule(title="Long set-up before the first GPU work", order=60, params=IdleHead)
def idle_head(run: RunEvidence, params: IdleHead, context: Context) -> Outcome:
    """Every GPU idle from the start for idle_s and idle_ratio of the run, then at least one active.

    Not on a run of memory_parked: what waits for requests is not being set up.
    """
    if "memory_parked" in context.found:
        return None
    if run.leading_idle_ms is None or not run.gpus_active or run.length_ms < params.min_held_s * 1000:
        return None
    share = run.leading_idle_ms / run.length_ms
    if run.leading_idle_ms < params.idle_s * 1000 or share < params.idle_ratio:
        return None
    return Seen(
        sentence=f"The first GPU work began {format_duration(run.leading_idle_ms)} after the start, "
        f"{format_pct(100 * share)} of the run.",
        advice=_advice(run, run.leading_idle_ms),
        lines=_lines(run),
        numbers={
            "leading_idle_ms": run.leading_idle_ms,
            "run_ms": run.length_ms,
            "share_pct": 100 * share,
            "gpus": run.gpus,
        },
        claim=Claim(tuple(gpu.gpu_key for gpu in run.each), (Part.HEAD,)),
        end_ms=run.start_ms + run.leading_idle_ms,
    )


def _advice(run: RunEvidence, leading_ms: int) -> str:
    advice = "Stage data and build the environment before the GPUs are held, for instance in a CPU job before it."
    # Idle time with empty memory too short for the head: memory was held for most of it.
    if all(gpu.idle_ms < leading_ms / 2 for gpu in run.each):
        return (
            f"Memory was held meanwhile. If it waited to be asked, start it when it is; if it set itself up: {advice}"
        )
    return advice


def _lines(run: RunEvidence) -> tuple[str, ...]:
    if run.kind == "session":
        return ()
    return (
        "prepare=$(sbatch --parsable YOUR_PREPARATION.sh)   # no GPU: data, packages, containers",
        "sbatch --dependency=afterok:$prepare YOUR_SCRIPT.sh",
    )
