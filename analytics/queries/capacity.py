"""What there was to hold, and what became of it: held, suspended, stray, offline, reserved, taken, free ...

From Slurm's inventory where there is one: a GPU counts whether or not a collector reports it. Where there is none,
every known GPU counts from the moment it was first seen. A MIG instance is a part of its parent, so capacity is counted
by whole devices (roots) and what instances hold is taken from their parent. Where more was held in an hour than a
device's capacity there, or on a device that nobody counts, it existed nonetheless. The parts add up exactly.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, TypedDict

import msgspec

from analytics.model import HOUR_MS, MINUTE_MS, Filter, Window
from analytics.queries.figures import gpu_h
from analytics.queries.rollup import floor
from analytics.queries.scope import fill
from analytics.queries.unreported import Unreported, is_told, unreported
from analytics.queries.used import KINDS, Used, devices_on, used, used_by_sums
from store.database import Cursor

_ROOTS: Final = """
    SELECT first_ms, until_ms, CAST(sum(weight) AS BIGINT) AS weight FROM ({devices}) WHERE root_key = gpu_key
    GROUP BY first_ms, until_ms ORDER BY first_ms, until_ms"""


class Root(msgspec.Struct, frozen=True):
    """Whole devices that count from and until the same moments, by their summed weight."""

    first_ms: int
    until_ms: int
    weight: int


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """What there was in a period, weight x ms.

    capacity = held + suspended + stray + releasing + offline + taken + reserved + unallocated.
    ``unallocated`` = free + stranded. Without an inventory (``told`` false) nobody can say more than unallocated.
    """

    told: bool
    capacity: int
    suspended: int
    stray: int
    releasing: int
    offline: int
    taken: int
    reserved: int
    stranded: int
    free: int

    @property
    def unallocated(self) -> int:
        return self.free + self.stranded


class Split(TypedDict):
    """The fields in which figures show the parts of capacity, in GPU-hours."""

    capacity_gpu_h: float | None
    unallocated_gpu_h: float | None
    stray_gpu_h: float | None
    suspended_gpu_h: float | None
    releasing_gpu_h: float | None
    offline_gpu_h: float | None
    reserved_gpu_h: float | None
    taken_gpu_h: float | None
    stranded_gpu_h: float | None
    free_gpu_h: float | None


class Capacity(msgspec.Struct, frozen=True):
    """Known devices, those that only Slurm counts, and the buckets in which something was used; in weight x ms."""

    roots: list[Root]
    used: list[Used]
    unreported: list[Unreported]
    told: bool
    to_ms: int

    def known(self, start_ms: int, end_ms: int) -> int:
        """Returns the capacity of the known devices in [start_ms, end_ms), up to the data's end."""
        end_ms = min(end_ms, self.to_ms)
        return sum(
            root.weight * max(0, min(end_ms, root.until_ms) - max(start_ms, root.first_ms)) for root in self.roots
        )

    def within(self, start_ms: int, end_ms: int) -> Whole:
        """Returns what there was in [start_ms, end_ms), from the buckets that begin there."""
        return self.parts([start_ms], [end_ms])[0]

    def parts(self, starts: Sequence[int], ends: Sequence[int]) -> list[Whole]:
        """Returns what there was in each [start, end), which follow each other."""
        used: dict[int, dict[int, list[Used]]] = defaultdict(lambda: defaultdict(list))
        apart: dict[int, dict[int, list[Unreported]]] = defaultdict(lambda: defaultdict(list))
        first_ms = floor(starts[0], MINUTE_MS)  # rows of the minute in which the first part begins
        for bucket in self.used:
            if first_ms <= bucket.at_ms < ends[-1]:
                used[max(0, bisect_right(starts, bucket.at_ms) - 1)][bucket.at_ms // HOUR_MS].append(bucket)
        for row in self.unreported:
            if first_ms <= row.at_ms < ends[-1]:
                apart[max(0, bisect_right(starts, row.at_ms) - 1)][row.at_ms // HOUR_MS].append(row)
        return [
            self._whole(start, end, used[number], apart[number])
            for number, (start, end) in enumerate(zip(starts, ends, strict=True))
        ]

    def _whole(
        self, start_ms: int, end_ms: int, used: dict[int, list[Used]], apart: dict[int, list[Unreported]]
    ) -> Whole:
        capacity = self.known(start_ms, end_ms)
        held = suspended = stray = 0
        sums = dict.fromkeys(KINDS, 0)
        for hour in used.keys() | apart.keys():
            rows, others = used.get(hour, []), apart.get(hour, [])
            spare: list[Used | Unreported] = [*rows, *others]
            for name in KINDS:
                sums[name] += sum(getattr(row, name, 0) for row in spare)
            held += sum(row.held for row in rows)
            suspended += sum(row.suspended for row in rows)
            stray += sum(row.stray for row in rows)
            capacity += sum(row.beyond for row in rows) + sum(row.total for row in others)
            unplaced = sum(row.unplaced for row in rows)
            if unplaced:
                placed = self._placed(unplaced, (max(start_ms, hour * HOUR_MS), end_ms), rows, others)
                sums["taken"] -= min(placed, sum(row.taken for row in spare))
                capacity += unplaced - placed
        free = capacity - held - suspended - stray - sum(sums.values())
        return Whole(told=self.told, capacity=capacity, suspended=suspended, stray=stray, free=free, **sums)

    def _placed(
        self, unplaced: int, within: tuple[int, int], rows: Sequence[Used], others: Sequence[Unreported]
    ) -> int:
        """Returns how much of what only accounting counts, in an hour, was on GPUs of which Slurm tells.

        It says on which nodes but not on which GPUs: some that are taken, or that nobody else is known to hold.
        """
        if not self.told:
            return 0
        start_ms, end_ms = within
        free = self.known(start_ms, min(end_ms, floor(start_ms, HOUR_MS) + HOUR_MS))
        free += sum(row.beyond + row.unplaced - row.held - row.suspended - row.stray for row in rows)
        free -= sum(row.releasing + row.offline + row.reserved + row.stranded for row in rows)
        room = max(0, free) + sum(row.taken + row.free for row in others)
        return min(unplaced, room)


def split(whole: Whole | None) -> Split:
    """Returns the parts of capacity in GPU-hours; None: nobody asked, or Slurm told nothing."""

    def hours(part: Callable[[Whole], int], *, always: bool = False) -> float | None:
        return gpu_h(part(whole)) if whole is not None and (always or whole.told) else None

    return Split(
        capacity_gpu_h=hours(lambda all_: all_.capacity, always=True),
        unallocated_gpu_h=hours(lambda all_: all_.unallocated, always=True),
        stray_gpu_h=hours(lambda all_: all_.stray, always=True),
        suspended_gpu_h=hours(lambda all_: all_.suspended, always=True),
        releasing_gpu_h=hours(lambda all_: all_.releasing),
        offline_gpu_h=hours(lambda all_: all_.offline),
        reserved_gpu_h=hours(lambda all_: all_.reserved),
        taken_gpu_h=hours(lambda all_: all_.taken),
        stranded_gpu_h=hours(lambda all_: all_.stranded),
        free_gpu_h=hours(lambda all_: all_.free),
    )


def capacity(
    cur: Cursor,
    window: Window,
    where: Filter,
    data_to_ms: int,
    *,
    minutes: bool = False,
    cuts: Sequence[int] = (),
) -> Capacity:
    """Returns devices and use of a window for a filter on places (cluster, model, node) only, up to the data's end.

    No bucket lies across a moment of ``cuts``.
    """
    end_ms = min(window.end_ms, data_to_ms)
    told = is_told(cur, window, end_ms)
    devices = devices_on(where, told=told)
    roots = cur.rows(fill(_ROOTS, devices=devices.sql), devices.params, Root)
    changed = any(root.first_ms > window.start_ms or root.until_ms < end_ms for root in roots)
    found = None if minutes else used_by_sums(cur, window, where, devices, end_ms, cuts=cuts, changed=changed)
    return Capacity(
        roots,
        used(cur, window, where, devices, end_ms, minutes=minutes, cuts=cuts) if found is None else found,
        unreported(cur, window, where, end_ms, cuts) if told else [],
        told,
        data_to_ms,
    )
