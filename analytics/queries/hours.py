"""GPU-hours by what the GPUs did: in total and broken down by whose, where and when. The rows add up to the total."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from analytics.model import HOUR_MS, Filter, Provenance, Viewer, Window
from analytics.queries.capacity import Capacity, capacity, split
from analytics.queries.days import days
from analytics.queries.effective import Effective, Source, effective
from analytics.queries.figures import Figures, Sums, figures, gpu_h
from analytics.queries.pieces import of_size
from analytics.queries.scope import ALWAYS, is_whole
from analytics.queries.site import data_to
from analytics.queries.sums import Key, by_column, by_day, by_number, sums
from store.database import Cursor

By = Literal["user", "account", "partition", "model", "node", "cluster", "day"]


class Hours(Figures, frozen=True, kw_only=True):
    """The total of a window. Capacity and what follows from it are None where a filter names runs, users or parts.

    capacity = held + suspended + releasing + stray + offline + reserved + taken + unallocated, and unallocated = free +
    stranded; releasing, offline, reserved, taken, stranded and free are None where Slurm's inventory tells nothing.
    ``effective_ratio`` (0-1) is of the held GPU-hours that can be told, ``effective_gpu_h`` that share of the measured.
    """

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
    effective_ratio: float | None
    effective_gpu_h: float | None
    effective_source: Source | None
    provenance: Provenance


class HoursRow(Figures, frozen=True, kw_only=True):
    """One row of a breakdown. ``key`` is None where it is not known; ``start_ms`` is set for ``by='day'`` only."""

    key: str | None
    start_ms: int | None
    findings: int | None


_KEYS: Final[dict[By, Key]] = {
    name: by_column(name) for name in ("user", "account", "partition", "model", "node", "cluster")
}


def hours(cur: Cursor, viewer: Viewer, window: Window, where: Filter, *, count: bool = True) -> Hours:
    """Returns the GPU-hours of the window, what the GPUs did in them, and how much of that is known.

    Without ``count`` runs, users and GPUs are not counted.
    """
    return _in_turn(cur, viewer, [window], where, count=count)[0]


def total(cur: Cursor, viewer: Viewer, window: Window, where: Filter, *, count: bool = True) -> Figures:
    """Returns what :func:`hours` does but for capacity and effective use, in a third of the time."""
    found = sums(cur, viewer, window, where, count=count)
    return Figures(**figures(found.get(0, _nothing(count=count))))


def hours_and_before(
    cur: Cursor, viewer: Viewer, window: Window, where: Filter, *, count: bool = True
) -> tuple[Hours, Hours]:
    """Returns :func:`hours` of the window and of the period before it, for little more than one of them costs."""
    before = window.before()
    # A row of an hour that both have a part of belongs to neither alone, and a run has its size within a window.
    if window.start_ms % HOUR_MS or of_size(where) is not ALWAYS:
        now, earlier = (hours(cur, viewer, each, where, count=count) for each in (window, before))
        return now, earlier
    earlier, now = _in_turn(cur, viewer, [before, window], where, count=count)
    return now, earlier


def _nothing(*, count: bool) -> Sums:
    return Sums(runs=0, users=0, gpus=0, findings=0) if count else Sums()


def _in_turn(cur: Cursor, viewer: Viewer, windows: Sequence[Window], where: Filter, *, count: bool) -> list[Hours]:
    """The hours of windows that follow each other without a gap, from full hour to full hour."""
    span = Window(start_ms=windows[0].start_ms, end_ms=windows[-1].end_ms)
    found = sums(cur, viewer, span, where, by_number(windows), count=count)
    to_ms = data_to(cur)
    starts = [window.start_ms for window in windows[1:]]
    there = None
    if is_whole(viewer, where) and to_ms is not None:
        there = capacity(cur, span, where, to_ms, cuts=starts)
    work = effective(cur, viewer, windows, where)
    return [
        _hours(
            found.get(index, _nothing(count=count)),
            there,
            work[index],
            Provenance(query="hours", window=window, filter=where, data_to_ms=to_ms),
        )
        for index, window in enumerate(windows)
    ]


def _hours(summed: Sums, there: Capacity | None, work: Effective, seen: Provenance) -> Hours:
    numbers = figures(summed)
    whole = None if there is None else there.within(seen.window.start_ms, seen.window.end_ms)
    return Hours(
        **numbers,
        **split(whole),
        effective_ratio=work.ratio,
        effective_gpu_h=None if work.ratio is None else work.ratio * gpu_h(summed.held - summed.unknown),
        effective_source=work.source,
        provenance=msgspec.structs.replace(seen, coverage=numbers["coverage"]),
    )


def breakdown(
    cur: Cursor, viewer: Viewer, window: Window, where: Filter, by: By, *, count: bool = True
) -> list[HoursRow]:
    """Returns :func:`hours` split by ``by``, most idle GPU-hours first; days in order, without empty ones.

    Without ``count`` runs, users, GPUs and findings are not counted.
    """
    starts = {day.name: day.start_ms for day in days(window)} if by == "day" else {}
    found = sums(cur, viewer, window, where, by_day(window) if by == "day" else _KEYS[by], count=count)
    rows = [
        HoursRow(**figures(summed), key=key, start_ms=starts.get(key), findings=summed.findings)
        for key, summed in sorted(found.items(), key=lambda row: _most_idle(*row))
    ]
    return sorted(rows, key=lambda row: row.start_ms or 0) if by == "day" else rows


def _most_idle(key: str | None, summed: Sums) -> tuple[int, int, bool, str]:
    return -(summed.idle_held + summed.idle_empty), -summed.held, key is None, key or ""
