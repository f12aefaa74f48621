"""GPUs that waited for CPU cores: all cores of the run were busy, and it had fewer than its share of the node's."""

from analytics.evidence import Claim, Outcome, RunEvidence, Seen, Undecided
from analytics.rules.registry import Context, Params, Percent, Ratio, Seconds, rule
from analytics.wording import format_pct, format_ratio


class CpuStarved(Params, frozen=True, kw_only=True):
    """[analytics.rules.cpu_starved]."""

    min_held_s: Seconds = 1800.0
    """Runs with less time than this that no other finding explains are not judged."""
    mean_pct: Percent = 50.0
    """Mean utilization over that time below which the GPUs waited."""
    min_cpu_efficiency: Ratio = 0.85
    """CPU efficiency from which the cores were all at work."""


@rule(title="Waits for CPU cores", order=200, params=CpuStarved, sessions=False)
def cpu_starved(run: RunEvidence, params: CpuStarved, context: Context) -> Outcome:
    """Mean utilization below mean_pct, CPU efficiency >= min_cpu_efficiency, fewer cores per GPU than the node has."""
    if not context.found.isdisjoint({"memory_parked", "hollow"}):
        return None
    mean_pct = context.mean_left_pct(run)
    rest_ms = run.covered_ms - context.explained_ms
    if mean_pct is None or not run.gpus_active or rest_ms < params.min_held_s * 1000 * run.gpus:
        return None
    if mean_pct >= params.mean_pct:
        return None
    has, share = run.cores_per_gpu, run.node_cores_per_gpu
    if has is not None and share is not None and has >= share:
        return None
    if run.cpu_efficiency is None:
        return Undecided("how busy its CPU cores were is not known")
    if run.cpu_efficiency < params.min_cpu_efficiency:
        return None
    if has is None or share is None:
        return Undecided("how many CPU cores its node has is not known")
    return _seen(run, mean_pct, has, share)


def _seen(run: RunEvidence, mean_pct: float, has: float, share: float) -> Seen:
    what, waited = ("the GPU", "it waited") if run.gpus == 1 else ("the GPUs", "they waited")
    more = int(share)
    return Seen(
        sentence=f"The {has:.3g} CPU cores per GPU were {format_ratio(run.cpu_efficiency)} busy and {what} "
        f"{format_pct(mean_pct)}: {waited} for them. The node has {more} cores for each of its GPUs.",
        advice="Ask for more cores per GPU, up to the node's share, and let the program use them; if that does not "
        "help, make the work on the CPU cheaper: prepare the data once, or do it on the GPU.",
        lines=(
            f"#SBATCH --cpus-per-gpu={more}",
            f"DataLoader(..., num_workers={max(1, more - 1)}, pin_memory=True, persistent_workers=True)",
        ),
        numbers={
            "mean_pct": mean_pct,
            "cpu_efficiency": run.cpu_efficiency,
            "cpu_source": run.cpu_source,
            "cores_per_gpu": has,
            "node_cores_per_gpu": share,
            "gpus": run.gpus,
        },
        claim=Claim(tuple(gpu.gpu_key for gpu in run.each)),
    )
