"""What every reader passes and gets: Viewer, Window and Filter in; numbers with their provenance out."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, Self
from zoneinfo import ZoneInfo

import msgspec

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
FIRST_YEAR = 1971  # a zone may be behind UTC, and no moment is negative
LAST_YEAR = 3000

STALE_INTERVALS = 3
DELIVERY_MS = 2 * MINUTE_MS
"""Rows travel in segments: data is late when it is older than 3 collection intervals once this time for closing,
sending and working in a segment has passed as well. With a segment a minute, 3 intervals alone would call every node
of a healthy cluster silent for half of each minute."""


def stale_after_ms(interval_ms: int) -> int:
    """Returns the age from which the newest row of a node that writes one each ``interval_ms`` is late."""
    return STALE_INTERVALS * interval_ms + DELIVERY_MS


class Viewer(msgspec.Struct, frozen=True):
    """Who asks. Every named query takes one; only ``admin`` exists before sign-in does."""

    kind: Literal["admin", "account", "user"] = "admin"
    user: str | None = None  # the person, also for an admin who asks for "me"
    accounts: tuple[str, ...] = ()


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Half open [start_ms, end_ms) in UTC.

    Hour rollups answer it, so both ends lie on full hours of the site's zone, except that the end may be the moment
    the data reaches to.
    """

    start_ms: int
    end_ms: int
    zone: str = "UTC"
    label: str = ""

    @property
    def hours(self) -> float:
        """Length in hours."""
        return (self.end_ms - self.start_ms) / HOUR_MS

    def before(self) -> Self:
        """Returns the period of equal length just before this one."""
        length = self.end_ms - self.start_ms
        return type(self)(
            start_ms=self.start_ms - length, end_ms=self.start_ms, zone=self.zone, label="the same span before"
        )

    @classmethod
    def last(cls, hours: int, now_ms: int, zone: str = "UTC") -> Self:
        """Returns the window of the last ``hours`` full hours plus the running one."""
        end = now_ms
        start = now_ms // HOUR_MS * HOUR_MS - (hours - (1 if now_ms % HOUR_MS else 0)) * HOUR_MS
        label = f"last {hours} h" if hours < 48 else f"last {hours // 24} days"
        return cls(start_ms=start, end_ms=end, zone=zone, label=label)

    @classmethod
    def week(cls, label: str, zone: str = "UTC") -> Self:
        """Returns an ISO week such as ``2026-W48`` of the site's zone: Monday 00:00 to Monday 00:00 (167-169 h).

        Raises:
            ValueError: there is no such week, or it lies where no data can be.
        """
        if not FIRST_YEAR <= int(label[:4]) <= LAST_YEAR:
            raise ValueError(f"{label} lies outside the years {FIRST_YEAR} to {LAST_YEAR}")
        monday = datetime.strptime(label + "-1", "%G-W%V-%u").replace(tzinfo=ZoneInfo(zone))
        # Wall-clock arithmetic within the zone: a week with a clock change has 167 or 169 hours.
        end = (monday + timedelta(days=7)).timestamp()
        return cls(start_ms=int(monday.timestamp()) * 1000, end_ms=int(end) * 1000, zone=zone, label=label)


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at; None or empty means all. Unknown values match nothing, they are not an error."""

    cluster: str | None = None
    user: str | None = None
    account: str | None = None
    partition: str | None = None
    model: str | None = None
    node: str | None = None
    state: str | None = None  # of the run: running, finished, or a Slurm state
    finding: str | None = None  # rule id, or "any"
    text: str | None = None  # part of job id or name
    family: str | None = None  # key of a family, as a recommendation has it
    min_gpu_h: float | None = None
    max_gpu_h: float | None = None
    min_util_pct: float | None = None
    max_util_pct: float | None = None


class State(StrEnum):
    """State of a GPU at a moment (definitions, section 2)."""

    ACTIVE = "active"
    LOW = "low"
    IDLE_HELD = "idle_held"
    IDLE = "idle"
    UNKNOWN = "unknown"
    UNALLOCATED = "unallocated"
    SUSPENDED = "suspended"
    STRAY = "stray"
    RELEASING = "releasing"
    OFFLINE = "offline"
    TAKEN = "taken"
    RESERVED = "reserved"
    STRANDED = "stranded"
    FREE = "free"


class Confidence(StrEnum):
    """How sure a finding is; below medium there is no finding, only "could not judge"."""

    HIGH = "high"
    MEDIUM = "medium"


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """How a number was computed: shown under "how computed" and in CLI and API."""

    query: str
    window: Window
    filter: Filter
    data_to_ms: int | None
    coverage: float | None = None
    thresholds: dict[str, float] = {}
