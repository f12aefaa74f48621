"""A run whose GPUs mostly waited, and no rule before says why."""

from analytics.evidence import Claim, Outcome, RunEvidence, Seen
from analytics.rules.registry import Context, Params, Percent, Seconds, rule
from analytics.wording import format_duration, format_pct


class LowUtilization(Params, frozen=True, kw_only=True):
    """[analytics.rules.low_utilization]."""

    min_held_s: Seconds = 1800.0
    """Runs with less time than this that no other finding explains are not judged."""
    amber_pct: Percent = 25.0
    """Mean utilization below which it is a finding."""
    red_pct: Percent = 15.0
    """Mean utilization below which the finding is of the stronger level."""


@rule(title="GPU mostly waiting, cause not clear", order=1000, params=LowUtilization)
def low_utilization(run: RunEvidence, params: LowUtilization, context: Context) -> Outcome:
    """Mean utilization below amber_pct over the time that earlier findings leave.

    A whole-run mean would call a run that worked hard and then sat idle a slow one: what is explained is taken out.
    """
    rest_ms = run.covered_ms - context.explained_ms
    # A run that never used its GPUs is another rule's, also where that one could not decide.
    if run.util_mean_pct is None or not run.gpus_active or rest_ms < params.min_held_s * 1000 * run.gpus:
        return None
    # Explained time is idle, hence adds nothing worth counting to the sum of utilization x time.
    mean_pct = run.util_mean_pct * run.covered_ms / rest_ms
    if mean_pct >= params.amber_pct:
        return None
    of_rest = " outside the idle time named above" if context.explained_ms else ""
    return Seen(
        sentence=f"Utilization was {format_pct(mean_pct)} on average over {format_duration(rest_ms / run.gpus)}"
        f"{of_rest}: the GPU waited for something most of the time.",
        advice="Three things to check first: data loading, batch size, and work between steps on the CPU.",
        lines=(
            "py-spy top --pid $(pgrep -u $USER -n python)        # where the program waits",
            "DataLoader(..., num_workers=8, pin_memory=True, persistent_workers=True)",
            "nvidia-smi dmon -s um -d 5                          # does it change with a larger batch?",
        ),
        numbers={
            "mean_pct": mean_pct,
            "whole_run_mean_pct": run.util_mean_pct,
            "judged_gpu_ms": rest_ms,
            "explained_gpu_ms": context.explained_ms,
            "gpus": run.gpus,
            "level": 2 if mean_pct < params.red_pct else 1,
        },
        claim=Claim(tuple(gpu.gpu_key for gpu in run.each)),
    )
