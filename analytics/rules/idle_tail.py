"""A run kept its GPUs after its last work on them."""

from analytics.evidence import Claim, Outcome, Part, RunEvidence, Seen
from analytics.rules.registry import Context, Params, Ratio, Seconds, rule
from analytics.wording import format_duration, format_pct


class IdleTail(Params, frozen=True, kw_only=True):
    """[analytics.rules.idle_tail]."""

    min_held_s: Seconds = 1800.0
    """Shorter runs are not judged."""
    idle_s: Seconds = 1800.0
    """Trailing idle time that is a finding in any run."""
    short_idle_s: Seconds = 600.0
    """Trailing idle time that is a finding where it is also ..."""
    short_idle_ratio: Ratio = 0.2
    """... at least this share of the run."""


@rule(title="Kept its GPUs after the work ended", order=70, params=IdleTail)
def idle_tail(run: RunEvidence, params: IdleTail, context: Context) -> Outcome:
    """After activity, every GPU idle until the end for idle_s, or for short_idle_s and short_idle_ratio of the run.

    Not on a run of memory_parked: its last request ended no work.
    """
    if "memory_parked" in context.found:
        return None
    if run.trailing_idle_ms is None or not run.gpus_active or run.length_ms < params.min_held_s * 1000:
        return None
    idle_ms, share = run.trailing_idle_ms, run.trailing_idle_ms / run.length_ms
    short = idle_ms >= params.short_idle_s * 1000 and share >= params.short_idle_ratio
    if idle_ms < params.idle_s * 1000 and not short:
        return None
    whose, on = ("The GPU was", "it") if run.gpus == 1 else (f"The {run.gpus} GPUs were", "them")
    return Seen(
        sentence=f"{whose} held for {format_duration(idle_ms)} after the last work on {on}, "
        f"{format_pct(100 * share)} of the run.",
        advice="Let the script end when its work ends: no sleep, no wait for input; copy results in a job of its own.",
        lines=_lines(run),
        numbers={
            "trailing_idle_ms": idle_ms,
            "run_ms": run.length_ms,
            "share_pct": 100 * share,
            "gpus": run.gpus,
        },
        claim=Claim(tuple(gpu.gpu_key for gpu in run.each), (Part.TAIL,)),
        start_ms=run.end_ms - idle_ms,
    )


def _lines(run: RunEvidence) -> tuple[str, ...]:
    if run.kind == "session":
        return ("del model; torch.cuda.empty_cache()   # frees the GPU in a program that goes on",)
    return (
        "set -e            # a step that fails ends the job",
        "sbatch --dependency=afterok:$SLURM_JOB_ID YOUR_COPYING.sh   # starts when this job is over, asks for no GPU",
        "python YOUR_PROGRAM.py   # the last line of the script: nothing after it keeps the GPUs",
    )
