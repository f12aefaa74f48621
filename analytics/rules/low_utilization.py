"""A run whose GPUs mostly waited, and no rule before says why."""

from typing import Final

from analytics.evidence import Claim, Outcome, RunEvidence, Seen
from analytics.rules.registry import Context, Params, Percent, Ratio, Seconds, rule
from analytics.wording import format_duration, format_pct

_CAUSES: Final = frozenset({"memory_parked", "hollow", "cpu_starved"})
"""Rules that say why: beside them nothing is said to be unclear."""


class LowUtilization(Params, frozen=True, kw_only=True):
    """[analytics.rules.low_utilization]."""

    min_held_s: Seconds = 1800.0
    """Runs with less time than this that no other finding explains are not judged."""
    amber_pct: Percent = 25.0
    """Mean utilization below which it is a finding."""
    red_pct: Percent = 15.0
    """Mean utilization below which the finding is of the stronger level."""
    idle_ratio: Ratio = 0.9
    """From this share of idle time on the GPU did not wait within work: it was held and hardly asked."""


@rule(title="GPU mostly waiting, cause not clear", order=1000, params=LowUtilization)
def low_utilization(run: RunEvidence, params: LowUtilization, context: Context) -> Outcome:
    """Mean utilization below amber_pct over the time that earlier findings leave.

    A whole-run mean would call a run that worked hard and then sat idle a slow one: what is explained is taken out.
    """
    if not context.found.isdisjoint(_CAUSES):
        return None
    rest_ms = run.covered_ms - context.explained_ms
    mean_pct = context.mean_left_pct(run)
    # A run that never used its GPUs is another rule's, also where that one could not decide.
    if mean_pct is None or not run.gpus_active or rest_ms < params.min_held_s * 1000 * run.gpus:
        return None
    if mean_pct >= params.amber_pct:
        return None
    idle_ms = sum(gpu.all_idle_ms for gpu in run.each) - context.explained_ms
    hardly_asked = idle_ms >= params.idle_ratio * rest_ms
    said, advice, lines = _held(run, idle_ms, rest_ms) if hardly_asked else _waited(run, mean_pct, rest_ms)
    of_rest = ", apart from the idle time that other findings explain" if context.explained_ms else ""
    return Seen(
        sentence=f"{said}{of_rest}.",
        advice=advice,
        lines=lines,
        numbers={
            "mean_pct": mean_pct,
            "whole_run_mean_pct": run.util_mean_pct,
            "judged_gpu_ms": rest_ms,
            "explained_gpu_ms": context.explained_ms,
            "idle_gpu_ms": idle_ms,
            "gpus": run.gpus,
            "level": 2 if mean_pct < params.red_pct else 1,
        },
        claim=Claim(tuple(gpu.gpu_key for gpu in run.each)),
    )


def _waited(run: RunEvidence, mean_pct: float, rest_ms: int) -> tuple[str, str, tuple[str, ...]]:
    span = format_duration(rest_ms / run.gpus)
    waits = "the GPU" if run.gpus == 1 else "the GPUs"
    return (
        f"Utilization was {format_pct(mean_pct)} on average over {span}: {waits} waited for something most of the time",
        "Three things to check first: data loading, batch size, and work between steps on the CPU.",
        (
            "py-spy top --pid $(pgrep -u $USER -n python)        # where the program waits",
            "DataLoader(..., num_workers=8, pin_memory=True, persistent_workers=True)",
            "nvidia-smi dmon -s um -d 5                          # does it change with a larger batch?",
        ),
    )


def _held(run: RunEvidence, idle_ms: int, rest_ms: int) -> tuple[str, str, tuple[str, ...]]:
    whose = "The GPU was" if run.gpus == 1 else f"The {run.gpus} GPUs were"
    idle, span = format_duration(idle_ms / run.gpus), format_duration(rest_ms / run.gpus)
    what = "it was" if run.gpus == 1 else "they were"
    lines = (
        "srun python YOUR_PROGRAM.py   # the work itself is the job: it ends when the work ends",
        "sbatch --dependency=singleton YOUR_SCRIPT.sh   # one job a piece of work, one after the other",
    )
    return (
        f"{whose} idle for {idle} of {span}: {what} held and little was done",
        "Hold a GPU only while there is work for it: one job a piece of work, released in between.",
        () if run.kind == "session" else lines,
    )
