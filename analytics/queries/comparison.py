"""When two windows may be compared, and the change between them (definitions, section 3)."""

from collections.abc import Sequence
from typing import Final

import msgspec

from analytics.queries.hours import Hours
from analytics.wording import format_ratio, format_time, share_pct

MIN_COVERAGE: Final = 0.8
MAX_COVERAGE_STEP: Final = 0.05


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Now less before, in GPU-hours and percentage points; a share is None on less than 10 GPU-hours."""

    held_gpu_h: float
    active_gpu_h: float
    idle_gpu_h: float
    capacity_gpu_h: float | None
    energy_kwh: float | None
    idle_share_pct: float | None
    active_share_pct: float | None
    before: Hours


class NotComparable(msgspec.Struct, frozen=True):
    """Why no change is shown, as a phrase: ``not comparable: 62 % -> 91 % of hours measured``."""

    sentence: str


def comparison(now: Hours, before: Hours, breaks: Sequence[int] = ()) -> Change | NotComparable:
    """Returns the change, where both windows were measured well and alike.

    ``breaks`` are the moments in them at which a threshold changed on which the hours in each state rest.
    """
    if breaks:
        when = format_time(breaks[-1], now.provenance.window.zone)
        return NotComparable(f"not comparable: the thresholds of the states changed on {when}")
    if before.coverage is None or now.coverage is None:
        when = "the same span before" if before.coverage is None else "this period"
        return NotComparable(f"not comparable: nothing was measured in {when}")
    close = abs(now.coverage - before.coverage) <= MAX_COVERAGE_STEP + 1e-9  # 0.95 - 0.90 is more than 0.05 in binary
    if min(now.coverage, before.coverage) < MIN_COVERAGE or not close:
        measured = f"{format_ratio(before.coverage)} -> {format_ratio(now.coverage)}"
        return NotComparable(f"not comparable: {measured} of hours measured")
    return Change(
        held_gpu_h=now.held_gpu_h - before.held_gpu_h,
        active_gpu_h=now.active_gpu_h - before.active_gpu_h,
        idle_gpu_h=now.idle_gpu_h - before.idle_gpu_h,
        capacity_gpu_h=_less(now.capacity_gpu_h, before.capacity_gpu_h),
        energy_kwh=_less(now.energy_kwh, before.energy_kwh),
        idle_share_pct=_less(idle_share_pct(now), idle_share_pct(before)),
        active_share_pct=_less(active_share_pct(now), active_share_pct(before)),
        before=before,
    )


def idle_share_pct(hours: Hours) -> float | None:
    """Returns idle GPU-hours in percent of the measured ones."""
    return share_pct(hours.idle_gpu_h, hours.measured_gpu_h)


def active_share_pct(hours: Hours) -> float | None:
    """Returns active GPU-hours in percent of the measured ones."""
    return share_pct(hours.active_gpu_h, hours.measured_gpu_h)


def _less(now: float | None, before: float | None) -> float | None:
    return None if now is None or before is None else now - before
