"""What a new installation waits for, step by step with times, until everything is green."""

import msgspec

from analytics.model import Viewer
from store.database import Cursor


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the checklist. ``due_ms`` is when it should be done, ``hint`` what to do where somebody must."""

    id: str
    done: bool
    text: str
    due_ms: int | None = None
    hint: str | None = None


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """``complete`` when all is green: then the checklist goes. ``since_ms`` is the first data."""

    complete: bool
    sentence: str
    since_ms: int | None
    data_to_ms: int | None
    steps: list[Step]


def progress(cur: Cursor, viewer: Viewer, now_ms: int, zone: str = "UTC") -> Progress:
    """Returns the checklist as of ``now_ms``, times in ``zone``."""
    raise NotImplementedError
