"""Which ISO week of the site's zone a moment belongs to."""

from datetime import timedelta
from typing import Final

from analytics.model import HOUR_MS, Window
from analytics.wording import local

CLOSED_AFTER_MS: Final = 8 * HOUR_MS
"""Accounting of the week's last jobs has come in by Monday 08:00."""


def week_of(at_ms: int, zone: str) -> str:
    """Returns the label of the week that holds a moment, such as ``2026-W48``."""
    return f"{local(at_ms, zone):%G-W%V}"


def last_complete_week(at_ms: int, zone: str) -> str:
    """Returns the label of the last week that had ended at a moment."""
    return f"{local(at_ms, zone) - timedelta(days=7):%G-W%V}"


def last_closed_week(data_from_ms: int, data_to_ms: int, zone: str) -> Window | None:
    """Returns the last week that was recorded from its Monday on and is closed; None where there is none yet."""
    window = Window.week(last_complete_week(data_to_ms - CLOSED_AFTER_MS, zone), zone)
    return window if data_from_ms <= window.start_ms else None
