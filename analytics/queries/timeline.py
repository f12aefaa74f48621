"""GPU-hours by state over time: the main chart of the overview and of a person."""

from bisect import bisect_right
from typing import Final

import msgspec

from analytics.model import HOUR_MS, MINUTE_MS, Filter, State, Viewer, Window
from analytics.queries.capacity import capacity, split
from analytics.queries.coarse import coarse
from analytics.queries.days import days
from analytics.queries.figures import gpu_h
from analytics.queries.pieces import pieces
from analytics.queries.rollup import floor
from analytics.queries.scope import fill, is_whole
from analytics.queries.site import data_to
from store.database import Cursor

MINUTES_UP_TO: Final = 6 * HOUR_MS
"""Windows up to this long are drawn by the minute."""

# Hours per bucket; each divides a day, so that buckets begin at the zone's midnight, or in zones at half hours at the
# full hour of UTC before it: rows of an hour are then not cut. From a day on: whole days.
_HOURS: Final = (1, 2, 3, 4, 6, 8, 12)
_MINUTES: Final = (1, 2, 5, 10, 15, 30, 60)
_DAYS: Final = (1, 2, 7, 14, 28, 91)


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True):
    """One bucket, half open from ``start_ms``. Capacity parts are None under a filter on runs, users or partitions."""

    start_ms: int
    end_ms: int
    active_gpu_h: float
    low_gpu_h: float
    idle_held_gpu_h: float
    idle_empty_gpu_h: float
    unknown_gpu_h: float
    stray_gpu_h: float | None
    unallocated_gpu_h: float | None
    capacity_gpu_h: float | None
    suspended_gpu_h: float | None = None
    releasing_gpu_h: float | None = None
    offline_gpu_h: float | None = None
    reserved_gpu_h: float | None = None
    taken_gpu_h: float | None = None
    stranded_gpu_h: float | None = None
    free_gpu_h: float | None = None

    @property
    def unsplit_gpu_h(self) -> float | None:
        """What was unallocated where nobody tells whether it was free or stranded."""
        return self.unallocated_gpu_h if self.free_gpu_h is None else None


FIELDS: Final[dict[str, str]] = {
    State.ACTIVE: "active_gpu_h",
    State.LOW: "low_gpu_h",
    State.IDLE_HELD: "idle_held_gpu_h",
    State.IDLE: "idle_empty_gpu_h",
    State.UNKNOWN: "unknown_gpu_h",
    State.SUSPENDED: "suspended_gpu_h",
    State.RELEASING: "releasing_gpu_h",
    State.TAKEN: "taken_gpu_h",
    State.STRAY: "stray_gpu_h",
    State.RESERVED: "reserved_gpu_h",
    State.OFFLINE: "offline_gpu_h",
    State.STRANDED: "stranded_gpu_h",
    State.FREE: "free_gpu_h",
    State.UNALLOCATED: "unsplit_gpu_h",
}
"""The field of a row for each state, in the order in which bars are stacked: together they are the whole."""


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """Buckets of ``bucket_ms`` without holes, at most as many as asked for; the first and the last may be shorter."""

    bucket_ms: int
    rows: list[TimelineRow]


_COLUMNS: Final = ("at_ms", "weight", "active", "low", "idle_held", "idle_empty", "unknown")

_OVER_TIME: Final = """
    SELECT at_ms, weight, CAST(sum(active) AS BIGINT), CAST(sum(low) AS BIGINT), CAST(sum(idle_held) AS BIGINT),
        CAST(sum(idle_empty) AS BIGINT), CAST(sum(unknown) AS BIGINT)
    FROM ({piece}) GROUP BY at_ms, weight"""


def over_time(cur: Cursor, viewer: Viewer, window: Window, where: Filter, max_points: int = 400) -> Timeline:
    """Returns the hours of the window by state in equal buckets of whole hours, or minutes for windows up to 6 h."""
    minutes = window.end_ms - window.start_ms <= MINUTES_UP_TO
    bucket_ms, starts = _buckets(window, max_points, minutes=minutes)
    told = None if minutes else coarse(cur, viewer, window, where, _COLUMNS, cuts=starts)
    piece = told or pieces(viewer, window, where, _COLUMNS, minutes=minutes, cuts=starts, weigh=False)
    sums = [[0] * 5 for _ in starts]
    for at_ms, weight, *times in cur.tuples(fill(_OVER_TIME, piece=piece.sql), piece.params):
        bucket = sums[max(0, bisect_right(starts, at_ms) - 1)]
        for column, time in enumerate(times):
            bucket[column] += weight * time
    to_ms = data_to(cur)
    there = None
    if is_whole(viewer, where) and to_ms is not None:
        there = capacity(cur, window, where, to_ms, minutes=minutes, cuts=starts)
    ends = [*starts[1:], window.end_ms]
    wholes = [None] * len(starts) if there is None else there.parts(starts, ends)
    rows = [
        TimelineRow(
            start_ms=start,
            end_ms=end,
            active_gpu_h=gpu_h(active),
            low_gpu_h=gpu_h(low),
            idle_held_gpu_h=gpu_h(idle_held),
            idle_empty_gpu_h=gpu_h(idle_empty),
            unknown_gpu_h=gpu_h(unknown),
            **split(there),
        )
        for start, end, (active, low, idle_held, idle_empty, unknown), there in zip(
            starts, ends, sums, wholes, strict=True
        )
    ]
    return Timeline(bucket_ms=bucket_ms, rows=rows)


def _buckets(window: Window, max_points: int, *, minutes: bool) -> tuple[int, list[int]]:
    """Nominal length and the starts of the buckets."""
    length = window.end_ms - window.start_ms
    if minutes:
        step = next((m for m in _MINUTES if length <= m * MINUTE_MS * max_points), _MINUTES[-1]) * MINUTE_MS
        first = floor(window.start_ms, step)
        return step, [max(start, window.start_ms) for start in range(first, window.end_ms, step)]
    hours = next((h for h in _HOURS if length <= h * HOUR_MS * max_points), None)
    table = days(window)
    if hours is None:
        number = next((d for d in _DAYS if len(table) <= d * max_points), _DAYS[-1])
        return number * 24 * HOUR_MS, [day.start_ms for day in table[::number]]
    step = hours * HOUR_MS
    starts = []
    for index, day in enumerate(table):
        # The first day may be cut by the window: its buckets still end where those of a full day would.
        first = day.end_ms - -(-(day.end_ms - day.start_ms) // step) * step if index == 0 else day.start_ms
        end = day.end_ms if day is table[-1] else floor(day.end_ms, HOUR_MS)
        starts += [max(start, window.start_ms) for start in range(floor(first, HOUR_MS), end, step)]
    return step, starts
