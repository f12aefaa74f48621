"""How long the disk of the store lasts: what it grows by a day, what retention takes away again, what is free."""

import shutil
from collections.abc import Sequence
from typing import Final

import msgspec

from analytics.wording import format_bytes, plural
from store import samples
from store.database import Cursor
from store.dirty import as_of_ms

_DAY_MS: Final = 86_400_000
RECENT_DAYS: Final = 7
SOON_DAYS: Final = 14
"""Days left from which somebody should look."""

_SEALED: Final = "SELECT coalesce(sum(bytes), 0)::BIGINT FROM sealed WHERE day >= $1 AND day < $2"
_MINUTES: Final = """
    SELECT (coalesce(sum(bytes), 0) / greatest(count(DISTINCT day), 1))::DOUBLE FROM sealed_minute
    WHERE day >= (SELECT max(day) FROM sealed_minute) - $1"""
# Of minutes one day is counted, of hours as many as of sealed files: few enough rows to be looked through for a page.
_ROWS: Final = """
    SELECT (SELECT count(*) FROM gpu_minute), (SELECT count(*) FROM gpu_hour),
        (SELECT count(*) FROM gpu_minute WHERE minute_ms >= $to_ms - 86400000 AND minute_ms < $to_ms),
        (SELECT count(*) FROM gpu_hour WHERE hour_ms >= $from_ms AND hour_ms < $to_ms)"""


class Part(msgspec.Struct, frozen=True):
    """Something that grows by so much a day, for as many days more until retention takes away as much."""

    bytes_per_day: float
    growing_days: float


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """How long the disk lasts, as far as the last ``over_days`` full days tell.

    ``days_left`` is None where what is kept settles before the disk is full, ``more_bytes`` above what there is now.
    """

    free_bytes: int
    bytes_per_day: int
    over_days: int
    days_left: int | None
    more_bytes: int

    @property
    def soon(self) -> bool:
        """Whether somebody should look."""
        return self.days_left is not None and self.days_left < SOON_DAYS

    @property
    def sentence(self) -> str:
        """What it says, and what it rests on."""
        days = "the last full day" if self.over_days == 1 else f"the last {self.over_days} full days"
        rests = f"{format_bytes(self.free_bytes)} are free and {days} took {format_bytes(self.bytes_per_day)} each"
        rests = rests if self.over_days > 1 else rests.removesuffix(" each")
        if self.days_left is None:
            settled = f"what is kept settles {format_bytes(self.more_bytes)} above today"
            return f"The disk lasts: {rests}; {settled}, as store.raw_days, minute_days and hour_days say."
        step = "Free some space, or lower store.raw_days or minute_days." if self.soon else ""
        return f"The disk lasts about {plural(self.days_left, 'day')}: {rests}, less what goes by age. {step}".rstrip()


def growth(cur: Cursor) -> Growth | None:
    """Returns how long the disk lasts; None for data of less than a full day, UTC, and for the synthetic cluster."""
    settings = cur.database.settings
    today = as_of_ms(cur) // _DAY_MS
    first_ms = cur.scalar("SELECT min(first_ms) FROM node")
    if first_ms is None or cur.database.synthetic:
        return None
    age = today - -(-first_ms // _DAY_MS)
    if age < 1:
        return None
    days = min(RECENT_DAYS, age)
    parts = _parts(cur, today, age, days)
    free = shutil.disk_usage(cur.database.directory).free
    return predicted(parts, free, free - (settings.min_free_mib << 20), days)


def predicted(parts: Sequence[Part], free_bytes: int, room_bytes: int, over_days: int) -> Growth:
    """Returns what ``parts`` make of a disk; ``room_bytes`` of what is free may be taken."""
    left, before = max(0.0, float(room_bytes)), 0.0
    days_left: float | None = None
    for until in sorted({part.growing_days for part in parts}):
        rate = sum(part.bytes_per_day for part in parts if part.growing_days >= until)
        if rate * (until - before) >= left and rate > 0:
            days_left = before + left / rate
            break
        left -= rate * (until - before)
        before = until
    return Growth(
        free_bytes=free_bytes,
        bytes_per_day=round(sum(part.bytes_per_day for part in parts if part.growing_days > 0)),
        over_days=over_days,
        days_left=None if days_left is None else int(days_left),
        more_bytes=round(sum(part.bytes_per_day * part.growing_days for part in parts)),
    )


def _parts(cur: Cursor, today: int, age: int, days: int) -> list[Part]:
    settings = cur.database.settings
    sealed = cur.scalar(_SEALED, [today - days, today])
    span = {"from_ms": (today - days) * _DAY_MS, "to_ms": today * _DAY_MS}
    [(minutes, hours, of_day, of_days)] = cur.tuples(_ROWS, span)
    # Their rows are alike, and nearly all that the file holds.
    per_row = samples.database_bytes(cur) / (minutes + hours) if minutes + hours else 0.0
    # Minutes leave the database for files after some days; until the first has, as much is expected of them.
    in_file = of_day * per_row
    apart = float(cur.scalar(_MINUTES, [days])) or in_file
    return [
        Part(sealed / days, max(0, settings.raw_days - age)),
        Part(in_file, max(0, settings.minute_seal_days - age)),
        Part(apart, max(0, settings.minute_days - max(age, settings.minute_seal_days))),
        Part(of_days * per_row / days, max(0, settings.hour_days - age)),
    ]
