"""Runs that would fit a smaller GPU model of the same cluster."""

from analytics.evidence import Claim, GpuEvidence, Outcome, RunEvidence, Seen, Undecided
from analytics.gpu_models import CLEARLY, GpuModel, smaller
from analytics.model import Confidence
from analytics.rules.registry import Context, Factor, Params, Percent, Seconds, rule
from analytics.wording import format_mib, format_pct


class GpuModelOversized(Params, frozen=True, kw_only=True):
    """[analytics.rules.gpu_model_oversized]."""

    min_held_s: Seconds = 1800.0
    """Shorter runs are not judged."""
    p95_pct: Percent = 20.0
    """SM activity, where it is read, else utilization, that 95 % of the time of every GPU stays within."""
    memory_factor: Factor = 1.15
    """Memory of the smaller model is at least this times what was used."""


@rule(title="Would fit {model}", order=2000, params=GpuModelOversized)
def gpu_model_oversized(run: RunEvidence, params: GpuModelOversized, context: Context) -> Outcome:
    """95th percentile of SM activity (else utilization) <= p95_pct, and 99 % of memory fits a smaller model.

    Smaller is clearly less memory and less compute. Not where video engines are at work. Explains no hours: it stands
    beside whatever was found.
    """
    used = [gpu for gpu in run.each if gpu.used]
    if not used or run.length_ms < params.min_held_s * 1000:
        return None
    p95s = [gpu.util_p95_pct if gpu.sm_p95_pct is None else gpu.sm_p95_pct for gpu in used]
    memories = [gpu.mem_p99_mib for gpu in run.each]
    models = {gpu.model for gpu in run.each}
    now = next((model for model in context.models if models == {model.name}), None)
    if now is None or any(value is None for value in (*p95s, *memories)):
        return None
    if any((gpu.engine_p95_pct or 0.0) > params.p95_pct for gpu in used):
        return None  # a smaller model may have fewer video engines
    p95_pct, mem_mib = max(value or 0.0 for value in p95s), max(value or 0.0 for value in memories)
    less = any(model.mem_total_mib <= CLEARLY * now.mem_total_mib for model in context.models)
    if p95_pct > params.p95_pct or not less:
        return None
    if now.tflops is None:
        return Undecided("how much its GPU model computes is not known")
    fits = smaller(context.models, now, params.memory_factor * mem_mib, p95_pct / 100)
    return None if fits is None else _seen(run, used, fits, p95_pct, mem_mib)


def _seen(run: RunEvidence, used: list[GpuEvidence], fits: GpuModel, p95_pct: float, mem_mib: float) -> Seen:
    by_sm = all(gpu.sm_p95_pct is not None for gpu in used)
    what = "activity of its processors" if by_sm else "utilization"
    whose = "The GPU" if run.gpus == 1 else "No GPU of the run"
    did = "used" if run.gpus == 1 else "used more than"
    where = f" in {fits.partitions}" if fits.partitions else ""
    lines = (
        (f"#SBATCH --gres=gpu:{fits.gres}:{run.request.per_node or run.request.gpus}",)
        if fits.gres
        else ("sinfo -o '%P %G'   # which partition has which GPUs",)
    )
    return Seen(
        sentence=f"{whose} {did} {format_mib(mem_mib)} of memory, and {what} stayed within {format_pct(p95_pct)} for "
        f"95 % of the time. {fits.name} has {format_mib(fits.mem_total_mib)}.",
        # Whether FP64, FP8 or NVLink matter to the program is not measured.
        advice=f"Try {fits.name}{where}: there may be less of a queue for it. Compare the time of one run.",
        lines=lines,
        numbers={
            "model": fits.name,
            "p95_pct": p95_pct,
            "p95_of": "SM activity" if by_sm else "utilization",
            "memory_used_mib": mem_mib,
            "model_memory_mib": fits.mem_total_mib,
            "gpus": run.gpus,
        },
        claim=Claim(()),
        at_most=Confidence.MEDIUM,
    )
