"""Runs that end long before their time limit, again and again: a shorter one would start earlier."""

import math

from analytics.evidence import Claim, Outcome, RunEvidence, Seen, Undecided
from analytics.rules.registry import Context, Factor, Params, Ratio, Seconds, rule
from analytics.sbatch import time_line
from analytics.wording import format_duration, format_pct


class WalltimeOversized(Params, frozen=True, kw_only=True):
    """[analytics.rules.walltime_oversized]."""

    min_runs: Factor = 5.0
    """Completed runs of the family that are needed, this one among them."""
    used_ratio: Ratio = 0.4
    """Share of this run's limit that the longest run of the family must stay below."""
    room_factor: Factor = 1.2
    """The limit that is proposed leaves this factor above the longest run."""
    step_s: Seconds = 900.0
    """It is rounded up to this."""


@rule(title="Asked for more time than used", order=2100, params=WalltimeOversized, sessions=False)
def walltime_oversized(run: RunEvidence, params: WalltimeOversized, _context: Context) -> Outcome:
    """COMPLETED, and with min_runs of its family none took used_ratio of the limit. Explains no hours.

    A run of the family that reached its limit forbids it, as does one that failed after a longer time.
    """
    if run.state != "COMPLETED" or run.family_completed < params.min_runs or run.family_timeouts:
        return None
    if run.timelimit_unlimited:
        return None
    if run.timelimit_ms is None:
        return Undecided("its time limit is not known")
    longest_ms = max(run.family_longest_ms, run.length_ms)
    if longest_ms >= params.used_ratio * run.timelimit_ms:
        return None
    step_ms = params.step_s * 1000
    enough_ms = math.ceil(params.room_factor * longest_ms / step_ms) * step_ms
    limit, longest = format_duration(run.timelimit_ms), format_duration(longest_ms)
    return Seen(
        sentence=f"It ran for {format_duration(run.length_ms)} with a limit of {limit}; the longest of "
        f"{run.family_completed} completed runs like it took {longest}, "
        f"{format_pct(100 * longest_ms / run.timelimit_ms)} of that.",
        advice="A shorter limit fits into gaps of the schedule: the job may start earlier.",
        lines=(time_line(round(enough_ms)),),
        numbers={
            "run_ms": run.length_ms,
            "timelimit_ms": run.timelimit_ms,
            "longest_ms": longest_ms,
            "family_completed": run.family_completed,
            "enough_ms": round(enough_ms),
        },
        claim=Claim(()),
    )
