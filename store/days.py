"""Days of the site's zone as UTC moments: 23, 24 or 25 hours, so that they add up to the week and the month."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import msgspec


class Day(msgspec.Struct, frozen=True, order=True):
    """A day of a zone, half open in UTC epoch milliseconds."""

    start_ms: int
    end_ms: int


def midnight(day: date, zone: str) -> int:
    """Returns the moment a day begins in ``zone``."""
    return int(datetime.combine(day, time(), ZoneInfo(zone)).timestamp()) * 1000


def days(from_ms: int, to_ms: int, zone: str) -> list[Day]:
    """Returns the days of ``zone`` that have a part in [from_ms, to_ms), each whole, in order."""
    day, found = datetime.fromtimestamp(from_ms / 1000, ZoneInfo(zone)).date(), []
    while (start_ms := midnight(day, zone)) < to_ms:
        day += timedelta(days=1)
        found.append(Day(start_ms, midnight(day, zone)))
    return found
