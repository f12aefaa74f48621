"""State lanes: for each GPU of a run the stretches of equal state, from its start to its end without holes."""

import msgspec

from analytics.model import Viewer
from store.database import Cursor


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Half open [start_ms, end_ms) in one state; ``unknown`` is explicit."""

    state: str
    start_ms: int
    end_ms: int


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU of a run. ``gpu`` is ``node:index``, or ``not placed 1`` where only accounting knows of it."""

    gpu_key: int
    gpu: str
    node: str | None
    stretches: list[Stretch]


class Lanes(msgspec.Struct, frozen=True, kw_only=True):
    """``merged_below_ms`` is the length below which stretches were merged into their neighbours (0: none were)."""

    merged_below_ms: int
    from_raw: bool
    lanes: list[Lane]


def lanes(cur: Cursor, viewer: Viewer, run_key: int, max_bars: int = 1000) -> Lanes:
    """Returns at most ``max_bars`` stretches; one that is idle for 60 s or longer is never dropped."""
    raise NotImplementedError
