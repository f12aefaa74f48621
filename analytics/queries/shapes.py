"""How GPU-hours spread over utilization, and over utilization and size: the two charts above the table of jobs."""

import msgspec

from analytics.model import Filter, Viewer, Window
from store.database import Cursor


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """Runs whose mean utilization lies in [from_pct, to_pct), the last bin including 100."""

    from_pct: int
    to_pct: int
    gpu_h: float
    runs: int


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """Ten bins; runs without any reading are counted apart, never as 0 %."""

    bins: list[Bin]
    unknown_gpu_h: float
    unknown_runs: int


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """Runs by size and utilization; ``from_gpu_h`` to ``to_gpu_h`` is a third of a decade, both half open."""

    from_gpu_h: float
    to_gpu_h: float
    from_pct: int
    to_pct: int
    gpu_h: float
    idle_gpu_h: float
    runs: int


def histogram(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> Histogram:
    """Returns GPU-hours of runs by their mean utilization in ten bins."""
    raise NotImplementedError


def hexmap(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> list[Cell]:
    """Returns the non-empty cells of GPU-hours (log) by mean utilization; runs without a reading are left out."""
    raise NotImplementedError
