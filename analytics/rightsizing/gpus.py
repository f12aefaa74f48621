"""Fewer GPUs, where whole GPUs of every run stayed idle."""

from collections.abc import Sequence

from analytics.rightsizing.history import History, PastRun
from analytics.rightsizing.proposal import Change
from analytics.rightsizing.waits import Waits
from analytics.sbatch import GpuRequest
from analytics.settings import RightsizingSettings
from analytics.wording import plural


def fewer_gpus(history: History, waits: Waits, settings: RightsizingSettings, now_ms: int) -> Change | None:
    """Returns the smallest request that every run so far could have lived with, or None where that is no less.

    Only comparable runs can bring the number down, but any run, also one that failed, was short or still lasts, keeps
    it up: what it used it may need again.
    """
    if not history.comparable:
        return None
    latest = history.latest
    now = GpuRequest(nodes=max(1, latest.nodes or 1), gpus=latest.asked_gpus)
    then = now.shrunk(needed_gpus(history, settings))
    if then.gpus >= now.gpus:
        return None
    freed = now.gpus - then.gpus
    weeks = history.weeks(now_ms)
    return Change(
        kind="gpus",
        current=plural(now.gpus, "GPU"),
        proposed=plural(then.gpus, "GPU") if then.gpus else "no GPU",
        before=now.lines(),
        after=then.lines(),
        gain=_gain(waits, latest, now, then),
        gpu_ms_week=round(freed * sum((run.end_ms - run.start_ms) * run.share for run in history.runs) / weeks),
        energy_j_week=_energy_j(history.runs, freed, weeks),
        would_have_failed=sum(run.gpus_needed(settings.memory_fill_ratio) > then.gpus for run in history.runs),
    )


def needed_gpus(history: History, settings: RightsizingSettings) -> int:
    """Returns the GPUs that every run of the history could have lived with."""
    return max(run.gpus_needed(settings.memory_fill_ratio) for run in history.runs)


def _gain(waits: Waits, latest: PastRun, now: GpuRequest, then: GpuRequest) -> str:
    if then.gpus == 0:
        return "It would start on a CPU partition, without a wait for GPUs."
    return waits.sentence(
        waits.by_gpus(latest, now.gpus),
        waits.by_gpus(latest, then.gpus),
        f"jobs with {plural(then.gpus, 'GPU')}",
        f"those with {now.gpus}",
    )


def _energy_j(runs: Sequence[PastRun], freed: int, weeks: float) -> float | None:
    """Energy of the GPUs that would not be held: of each run those that spent least. None where a run's is unknown."""
    total = 0.0
    for run in runs:
        known = [energy for energy in run.energies_j or [] if energy is not None]
        if len(known) < freed:
            return None
        total += sum(sorted(known)[:freed])
    return total / weeks
