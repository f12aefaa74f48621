"""An open session, such as a notebook, whose GPUs waited for its user most of the time."""

from analytics.evidence import Claim, Outcome, RunEvidence, Seen
from analytics.rules.registry import Context, Params, Ratio, Seconds, rule
from analytics.wording import format_duration, format_pct


class InteractiveIdle(Params, frozen=True, kw_only=True):
    """[analytics.rules.interactive_idle]."""

    min_held_s: Seconds = 3600.0
    """Shorter sessions are not judged."""
    idle_ratio: Ratio = 0.6
    """Share of the session with all its GPUs idle at once from which it is a finding."""
    stay_idle_ratio: Ratio = 0.5
    """A finding on a session that lasts stays down to this much, so that it does not come and go."""


@rule(title="Open session, mostly idle", order=40, params=InteractiveIdle, running=True, interactive=True)
def interactive_idle(run: RunEvidence, params: InteractiveIdle, context: Context) -> Outcome:
    """Somebody sits at the run (no batch step, or its name says so) and all its GPUs are idle for idle_ratio of it."""
    if not context.interactive or run.idle_together_ms is None or run.length_ms < params.min_held_s * 1000:
        return None
    share = run.idle_together_ms / run.length_ms
    stays = context.was_open and not run.finished
    if share < (params.stay_idle_ratio if stays else params.idle_ratio):
        return None
    whose = "its GPU idle" if run.gpus == 1 else f"its {run.gpus} GPUs idle at once"
    opened = "was open for" if run.finished else "has been open for"
    return Seen(
        sentence=f"The session {opened} {format_duration(run.length_ms)} and {whose} for "
        f"{format_duration(run.idle_together_ms)} of it, {format_pct(100 * share)}.",
        advice="End a session when you leave it, or let it end itself; to try things out, a smaller GPU or a slice of "
        "one is enough.",
        lines=_lines(run),
        numbers={
            "idle_together_ms": run.idle_together_ms,
            "run_ms": run.length_ms,
            "share_pct": 100 * share,
            "gpus": run.gpus,
        },
        claim=Claim(tuple(gpu.gpu_key for gpu in run.each)),
    )


def _lines(run: RunEvidence) -> tuple[str, ...]:
    end = () if run.finished else (f"scancel {run.job_id}   # when you leave",)
    return (
        *end,
        "salloc --gres=gpu:1 --time=02:00:00   # for as long as you sit at it",
        "jupyter lab --ServerApp.shutdown_no_activity_timeout=3600 --MappingKernelManager.cull_idle_timeout=3600",
    )
