"""Where the hours go, by person or account, and whether it is improving."""

from collections import defaultdict
from typing import Final, Literal

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries.coarse import coarse
from analytics.queries.days import as_table, days
from analytics.queries.figures import gpu_h
from analytics.queries.hours import HoursRow, breakdown
from analytics.queries.pending import unjudged_by
from analytics.queries.pieces import pieces
from analytics.queries.scope import fill
from analytics.queries.sums import by_column, counts
from analytics.wording import share_pct
from store.database import Cursor

LITTLE_GPU_H: Final = 50.0
"""Below this a person's share is too little to say anything."""


class PersonRow(msgspec.Struct, frozen=True, kw_only=True):
    """A person or account, or None for runs whose owner is not known.

    Shares are of measured hours, None on less than 10 GPU-hours. ``little`` marks those with less than 50 GPU-hours:
    too little to say. ``to_judge`` are runs that the rules have not seen yet.
    ``daily_idle_gpu_h`` and ``daily_gpu_h`` are the days of the window in order.
    """

    key: str | None
    accounts: list[str]
    held_gpu_h: float
    active_gpu_h: float
    low_gpu_h: float
    idle_gpu_h: float
    unknown_gpu_h: float
    active_share_pct: float | None
    low_share_pct: float | None
    idle_share_pct: float | None
    coverage: float | None
    energy_kwh: float | None
    runs: int
    findings: int
    to_judge: int
    little: bool
    daily_gpu_h: list[float]
    daily_idle_gpu_h: list[float]


_COLUMNS: Final = ("at_ms", "account", "weight", "held", "idle_held", "idle_empty")

_DAYS: Final = """
    SELECT {key} AS key, account, d.start_ms, weight, CAST(sum(held) AS BIGINT),
        CAST(sum(idle_held + idle_empty) AS BIGINT)
    FROM ({piece}) AS piece JOIN ({days}) AS d ON piece.at_ms >= d.start_ms AND piece.at_ms < d.end_ms
    GROUP BY ALL"""


def people(
    cur: Cursor, viewer: Viewer, window: Window, where: Filter, by: Literal["user", "account"] = "user"
) -> list[PersonRow]:
    """Returns people or accounts, most GPU-hours first."""
    starts = [day.start_ms for day in days(window)]
    told = coarse(cur, viewer, window, where, (*_COLUMNS, by), cuts=starts)
    piece = told or pieces(viewer, window, where, (*_COLUMNS, by), cuts=starts, weigh=False)
    table = as_table(window)
    statement = fill(_DAYS, key=f'piece."{by}"', piece=piece.sql, days=table.sql)
    daily: dict[str | None, dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    accounts: dict[str | None, set[str]] = defaultdict(set)
    for key, account, day_ms, weight, held, idle in cur.tuples(statement, piece.params | table.params):
        day = daily[key][day_ms]
        day[0], day[1] = day[0] + weight * held, day[1] + weight * idle
        accounts[key].update([account] if account is not None else [])
    waiting = unjudged_by(cur, viewer, window, where, by)
    counted = counts(cur, viewer, window, where, by_column(by))
    found = [
        _person(
            row,
            sorted(accounts[row.key]),
            [daily[row.key][start] for start in starts],
            (*counted[row.key], waiting[row.key]),
        )
        for row in breakdown(cur, viewer, window, where, by, count=False)
    ]
    return sorted(found, key=lambda row: (-row.held_gpu_h, row.key or ""))


def _person(
    row: HoursRow, accounts: list[str], daily: list[list[int]], counted: tuple[int, int, int, int]
) -> PersonRow:
    return PersonRow(
        key=row.key,
        accounts=accounts,
        held_gpu_h=row.held_gpu_h,
        active_gpu_h=row.active_gpu_h,
        low_gpu_h=row.low_gpu_h,
        idle_gpu_h=row.idle_gpu_h,
        unknown_gpu_h=row.unknown_gpu_h,
        active_share_pct=share_pct(row.active_gpu_h, row.measured_gpu_h),
        low_share_pct=share_pct(row.low_gpu_h, row.measured_gpu_h),
        idle_share_pct=share_pct(row.idle_gpu_h, row.measured_gpu_h),
        coverage=row.coverage,
        energy_kwh=row.energy_kwh,
        runs=counted[0],
        findings=counted[2],
        to_judge=counted[3],
        little=row.held_gpu_h < LITTLE_GPU_H,
        daily_gpu_h=[gpu_h(held) for held, _ in daily],
        daily_idle_gpu_h=[gpu_h(idle) for _, idle in daily],
    )
