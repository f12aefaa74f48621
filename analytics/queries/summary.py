"""The overview: hours now and before, the change where comparable, and the sentence that says it."""

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries.comparison import Change, NotComparable
from analytics.queries.hours import Hours
from store.database import Cursor


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """``change`` is None while the data is shorter than two windows; shares are None on less than 10 GPU-hours."""

    sentence: str
    hours: Hours
    change: Change | NotComparable | None
    allocated_share_pct: float | None
    active_share_pct: float | None
    low_share_pct: float | None
    idle_share_pct: float | None
    effective_share_pct: float | None


def summary(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> Summary:
    """Returns what the overview says of the window."""
    raise NotImplementedError


def headline(hours: Hours, change: Change | NotComparable | None, kind: str = "slurm") -> str:
    """Returns the one sentence that answers the overview's question."""
    raise NotImplementedError
