"""More CPU cores per GPU, where runs were found to wait for them."""

from analytics.rightsizing.history import History
from analytics.rightsizing.proposal import Change
from analytics.wording import format_pct


def more_cores(history: History) -> Change | None:
    """Returns the node's share of cores per GPU where half of the comparable runs or more were short of them.

    More cores than before fail no run, so nothing of the history speaks against it.
    """
    starved = [run for run in history.comparable if run.node_cores_per_gpu is not None]
    latest = history.latest
    if not starved or len(starved) * 2 < len(history.comparable) or latest.cores_per_gpu is None:
        return None
    share = int(min(run.node_cores_per_gpu or 0.0 for run in starved))
    if share <= latest.cores_per_gpu:
        return None
    known = [run.util_mean_pct for run in starved if run.util_mean_pct is not None]
    busy = f" with the GPUs at {format_pct(sum(known) / len(known))}" if known else ""
    return Change(
        kind="cores",
        current=f"{latest.cores_per_gpu:.3g} cores per GPU",
        proposed=f"{share} cores per GPU",
        before=(f"#SBATCH --cpus-per-gpu={max(1, int(latest.cores_per_gpu))}",),
        after=(f"#SBATCH --cpus-per-gpu={share}",),
        gain=f"Faster runs: all cores were busy{busy} in {len(starved)} of {len(history.comparable)} runs.",
        would_have_failed=0,
    )
