"""When two windows may be compared, and the change between them (definitions, section 3)."""

import msgspec

from analytics.queries.hours import Hours


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


def comparison(now: Hours, before: Hours) -> Change | NotComparable:
    """Returns the change, where both windows were measured well and alike."""
    raise NotImplementedError
