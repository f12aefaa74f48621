"""What each GPU of a run did over time: measurements for line charts. State lanes are in lanes.py."""

import msgspec

from analytics.model import Viewer
from store.database import Cursor


class GpuSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU: ``at_ms`` is the start of each bucket; values are in natural units, None where there is no reading."""

    gpu_key: int
    gpu: str
    node: str
    at_ms: list[int]
    values: dict[str, list[float | None]]


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """``resolution_ms`` is the width of a bucket; ``from_raw`` says that rows and not minutes were averaged."""

    resolution_ms: int
    from_raw: bool
    gpus: list[GpuSeries]


def metrics(cur: Cursor, viewer: Viewer, run_key: int, names: tuple[str, ...], max_points: int = 1000) -> Series:
    """Returns the named catalogue metrics of a run, time-weighted per bucket. Raises ValueError for an unknown name."""
    raise NotImplementedError
