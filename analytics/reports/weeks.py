"""Which ISO week of the site's zone a moment belongs to."""

from datetime import timedelta

from analytics.wording import local


def week_of(at_ms: int, zone: str) -> str:
    """Returns the label of the week that holds a moment, such as ``2026-W48``."""
    return f"{local(at_ms, zone):%G-W%V}"


def last_complete_week(at_ms: int, zone: str) -> str:
    """Returns the label of the last week that had ended at a moment."""
    return f"{local(at_ms, zone) - timedelta(days=7):%G-W%V}"
