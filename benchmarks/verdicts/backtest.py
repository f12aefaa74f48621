"""Whether what would have been recommended from the first half of a family's runs had fitted the second half."""

from analytics.rightsizing.gpus import needed_gpus
from analytics.rightsizing.history import History, PastRun, histories
from analytics.rightsizing.time_limit import enough_ms
from analytics.sbatch import GpuRequest
from analytics.settings import RightsizingSettings
from store.database import Cursor


def backtest(cur: Cursor, now_ms: int, settings: RightsizingSettings) -> float | None:
    """Return the share of later completed runs that the recommended GPUs and time limit would have held.

    None where no family has runs enough in its first half.
    """
    fits: list[bool] = []
    for history in histories(cur, now_ms, settings):
        middle = len(history.runs) // 2
        early = {run.run_key for run in history.runs[:middle]}
        before = History(
            runs=history.runs[:middle], comparable=[run for run in history.comparable if run.run_key in early]
        )
        if middle and before.missing(settings) is None:
            later = [run for run in history.comparable if run.run_key not in early]
            fits += [_fits(run, before, settings) for run in later]
    return sum(fits) / len(fits) if fits else None


def _fits(run: PastRun, before: History, settings: RightsizingSettings) -> bool:
    asked = GpuRequest(nodes=max(1, before.latest.nodes or 1), gpus=before.latest.asked_gpus)
    gpus = asked.shrunk(needed_gpus(before, settings)).gpus
    return run.gpus_needed(settings.memory_fill_ratio) <= gpus and run.elapsed_ms <= enough_ms(before, settings)
