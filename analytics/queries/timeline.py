"""GPU-hours by state over time: the main chart of the overview and of a person."""

import msgspec

from analytics.model import Filter, Viewer, Window
from store.database import Cursor


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True):
    """One bucket, half open from ``start_ms``. Capacity parts are None under a filter on runs, users or partitions."""

    start_ms: int
    end_ms: int
    active_gpu_h: float
    low_gpu_h: float
    idle_held_gpu_h: float
    idle_empty_gpu_h: float
    unknown_gpu_h: float
    stray_gpu_h: float | None
    unallocated_gpu_h: float | None
    capacity_gpu_h: float | None


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """Buckets of ``bucket_ms`` (the last may be shorter) without holes, at most as many as asked for."""

    bucket_ms: int
    rows: list[TimelineRow]


def over_time(cur: Cursor, viewer: Viewer, window: Window, where: Filter, max_points: int = 400) -> Timeline:
    """Returns the hours of the window by state in equal buckets of whole hours, or minutes for windows up to 6 h."""
    raise NotImplementedError
