"""What a recommendation rests on and what its hours a week are a mean of, said alike by pages, reports and commands."""

from typing import Final

from analytics.wording import DAY_MS, format_energy, format_gpu_h, plural

COSTS: Final = "It costs:"
NOT_KNOWN: Final = "The wait is not known: too few jobs to compare."


def gain(said: str) -> str:
    """Returns ``You gain: ...``; a cost, what is not known and nothing at all are not called a gain."""
    return f"You gain: {said}" if said and not said.startswith((COSTS, NOT_KNOWN)) else said


def freed(gpu_h_week: float, over_ms: int, energy_kwh_week: float | None = None) -> str:
    """Returns ``762 GPU-h a week, on average over the last 14 days``."""
    energy = "" if energy_kwh_week is None else f" and {format_energy(energy_kwh_week, estimated=True)}"
    return f"{format_gpu_h(gpu_h_week)}{energy} a week, on average over the {_last(over_ms)}"


def rests_on(*, runs: int, submissions: int, family_runs: int, over_ms: int, would_have_failed: int) -> str:
    """Returns the runs that it was drawn from, of how many, and how many of all would have failed with it.

    ``runs`` completed and can be compared; ``family_runs`` are all of the last ``over_ms``, also failed, short and
    running ones, which can only speak against it.
    """
    drawn = f"rests on {plural(runs, 'completed run')} from {plural(submissions, 'submission')}"
    return (
        f"{drawn}, of {plural(family_runs, 'run')} in the {_last(over_ms)}; "
        f"{would_have_failed or 'none'} of these would have failed with it"
    )


def days(over_ms: int) -> int:
    """Returns a stretch of time in days, to the nearest whole one and at least one."""
    return max(1, round(over_ms / DAY_MS))


def _last(over_ms: int) -> str:
    count = days(over_ms)
    return "last day" if count == 1 else f"last {count} days"
