"""Days of the site's zone as UTC moments: 23, 24 or 25 hours, so that days add up to the week and the month."""

from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from analytics.model import Window
from analytics.queries.scope import Condition
from analytics.wording import local

DAY: Final = "SELECT unnest($day_starts) AS start_ms, unnest($day_ends) AS end_ms, unnest($day_names) AS name"
"""Days as a table of SQL; its parameters come from :func:`as_table`."""


class Day(msgspec.Struct, frozen=True):
    """A day's part of a window, half open, and its ISO date."""

    start_ms: int
    end_ms: int
    name: str


def midnight(day: date, zone: str) -> int:
    """Returns the moment a day begins in ``zone``."""
    return int(datetime.combine(day, time(), ZoneInfo(zone)).timestamp()) * 1000


def midnights(start_ms: int, end_ms: int, zone: str) -> list[int]:
    """Returns the moments in [start_ms, end_ms] at which a day of ``zone`` begins, in order."""
    day, found = local(start_ms, zone).date(), []
    while (moment := midnight(day, zone)) <= end_ms:
        found.append(moment)
        day += timedelta(days=1)
    return [moment for moment in found if moment >= start_ms]


def days(window: Window) -> list[Day]:
    """Returns the days of a window in its zone; the first and the last may be cut by it."""
    found: list[Day] = []
    start, day = window.start_ms, local(window.start_ms, window.zone).date()
    while start < window.end_ms:
        following = day + timedelta(days=1)
        end = min(midnight(following, window.zone), window.end_ms)
        found.append(Day(start, end, day.isoformat()))
        start, day = end, following
    return found


def as_table(window: Window) -> Condition:
    """Returns a SELECT of the window's days (start_ms, end_ms, name) and its parameters."""
    table = days(window)
    return Condition(
        DAY,
        {
            "day_starts": [day.start_ms for day in table],
            "day_ends": [day.end_ms for day in table],
            "day_names": [day.name for day in table],
        },
    )
