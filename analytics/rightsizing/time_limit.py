"""A shorter time limit, from how long finished runs took."""

import math
from collections.abc import Sequence

from analytics.rightsizing.history import History
from analytics.rightsizing.proposal import Change
from analytics.rightsizing.waits import Waits
from analytics.sbatch import time_line
from analytics.settings import RightsizingSettings
from analytics.wording import format_duration


def shorter_time(history: History, waits: Waits, settings: RightsizingSettings) -> Change | None:
    """Returns a time limit with room above every run so far, or None where the present one is right.

    A run that reached its limit forbids any less. Runs that did not complete never bring the limit down; how long they
    ran keeps it up.
    """
    latest = history.latest
    if latest.timelimit_ms is None and not latest.timelimit_unlimited:
        return None
    if not history.comparable or any(run.state.startswith("TIMEOUT") for run in history.runs):
        return None
    limit_ms = enough_ms(history, settings)
    if latest.timelimit_ms is not None and limit_ms > latest.timelimit_ms * (1 - settings.time_min_saving_ratio):
        return None
    return Change(
        kind="walltime",
        current="no limit" if latest.timelimit_ms is None else format_duration(latest.timelimit_ms),
        proposed=format_duration(limit_ms),
        before=(time_line(latest.timelimit_ms),),
        after=(time_line(limit_ms),),
        gain=waits.sentence(
            waits.by_time(latest, at_least_ms=latest.timelimit_ms),
            waits.by_time(latest, at_most_ms=limit_ms),
            f"jobs of at most {format_duration(limit_ms)}",
            "those with your limit",
        ),
        would_have_failed=sum(run.elapsed_ms > limit_ms for run in history.runs),
    )


def enough_ms(history: History, settings: RightsizingSettings) -> int:
    """Returns the time limit, in whole steps, that leaves room above every run; one of them has to be comparable."""
    longest_ms = max(run.elapsed_ms for run in history.runs)
    completed_ms = max(run.elapsed_ms for run in history.runs if run.state == "COMPLETED")
    p95_ms = percentile([run.elapsed_ms for run in history.comparable], 0.95)
    wanted = max(settings.time_p95_factor * p95_ms, settings.time_longest_factor * completed_ms, longest_ms)
    step_ms = round(settings.time_step_s * 1000)
    return math.ceil(wanted / step_ms) * step_ms


def percentile(values: Sequence[int], share: float) -> float:
    """Returns the quantile ``share`` (0-1) of a non-empty list, linear between values (type 7)."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
