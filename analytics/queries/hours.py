"""GPU-hours by what the GPUs did: in total and broken down by whose, where and when. The rows add up to the total."""

from typing import Final, Literal

import msgspec

from analytics.model import Filter, Provenance, Viewer, Window
from store.database import Cursor

By = Literal["user", "account", "partition", "model", "node", "cluster", "day"]
Source = Literal["measured", "estimated"]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What every sum of GPU-hours carries. ``held = active + low + idle_held + idle_empty + unknown``, exactly.

    ``lost_gpu_h`` is the below-100 figure: it contains idle, the two are never added. ``coverage`` (0-1) leaves out what
    cannot be measured on that hardware; ``util_mean_pct`` is the mean over measured time, weighted by GPU-hours.
    """

    held_gpu_h: float
    active_gpu_h: float
    low_gpu_h: float
    idle_held_gpu_h: float
    idle_empty_gpu_h: float
    idle_gpu_h: float
    unknown_gpu_h: float
    missing_gpu_h: float
    unmeasurable_gpu_h: float
    parked_gpu_h: float
    lost_gpu_h: float
    measured_gpu_h: float
    coverage: float | None
    util_mean_pct: float | None
    energy_kwh: float | None
    energy_estimated: bool
    runs: int
    users: int
    gpus: int


class Hours(Figures, frozen=True, kw_only=True):
    """The total of a window. Capacity and what follows from it are None where a filter names runs, users or parts."""

    capacity_gpu_h: float | None
    unallocated_gpu_h: float | None
    stray_gpu_h: float | None
    effective_ratio: float | None
    effective_source: Source | None
    provenance: Provenance


class HoursRow(Figures, frozen=True, kw_only=True):
    """One row of a breakdown. ``key`` is None where it is not known; ``start_ms`` is set for ``by='day'`` only."""

    key: str | None
    start_ms: int | None
    findings: int


def hours(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> Hours:
    """Returns the GPU-hours of the window, what the GPUs did in them, and how much of that is known."""
    raise NotImplementedError


def breakdown(cur: Cursor, viewer: Viewer, window: Window, where: Filter, by: By) -> list[HoursRow]:
    """Returns :func:`hours` split by ``by``, most idle GPU-hours first; days in order."""
    raise NotImplementedError
