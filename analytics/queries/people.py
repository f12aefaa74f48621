"""Where the hours go, by person or account, and whether it is improving."""

from typing import Literal

import msgspec

from analytics.model import Filter, Viewer, Window
from store.database import Cursor


class PersonRow(msgspec.Struct, frozen=True, kw_only=True):
    """A person or account, or None for runs whose owner is not known.

    Shares are of measured hours, None on less than 10 GPU-hours. ``little`` marks those with less than 50 GPU-hours:
    too little to say. ``daily_idle_gpu_h`` and ``daily_gpu_h`` are the days of the window in order.
    """

    key: str | None
    accounts: list[str]
    held_gpu_h: float
    active_gpu_h: float
    low_gpu_h: float
    idle_gpu_h: float
    unknown_gpu_h: float
    active_share_pct: float | None
    idle_share_pct: float | None
    coverage: float | None
    energy_kwh: float | None
    runs: int
    findings: int
    little: bool
    daily_gpu_h: list[float]
    daily_idle_gpu_h: list[float]


def people(
    cur: Cursor, viewer: Viewer, window: Window, where: Filter, by: Literal["user", "account"] = "user"
) -> list[PersonRow]:
    """Returns people or accounts, most GPU-hours first."""
    raise NotImplementedError
