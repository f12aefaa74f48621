"""Where the hours go, by person or account, and whether it is improving."""

from collections import defaultdict
from typing import Final, Literal

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries.days import as_table, days
from analytics.queries.figures import gpu_h
from analytics.queries.hours import HoursRow, breakdown
from analytics.queries.pieces import pieces
from analytics.queries.scope import fill
from analytics.wording import share_pct
from store.database import Cursor

LITTLE_GPU_H: Final = 50.0
"""Below this a person's share is too little to say anything."""


class PersonRow(msgspec.Struct, frozen=True, kw_only=True):
    """A person or account, or None for runs whose owner is not known.

    Shares are of measured hours, None on less than 10 GPU-hours. ``little`` marks those with less than 50 GPU-hours:
    too little to say. ``daily_idle_gpu_h`` and ``daily_gpu_h`` are the days of the window in order.
    """

    key: str | None
    accounts: list[str]
    held_gpu_h: float
    active_gpu_h: float
    low_gpu_h: float
    idle_gpu_h: float
    unknown_gpu_h: float
    active_share_pct: float | None
    idle_share_pct: float | None
    coverage: float | None
    energy_kwh: float | None
    runs: int
    findings: int
    little: bool
    daily_gpu_h: list[float]
    daily_idle_gpu_h: list[float]


class _Day(msgspec.Struct, frozen=True):
    key: str | None
    day_ms: int
    held: int
    idle: int
    accounts: list[str]


_COLUMNS: Final = ("at_ms", "account", "held", "idle_held", "idle_empty")

_DAYS: Final = """
    SELECT {key} AS key, d.start_ms AS day_ms, CAST(sum(held) AS BIGINT) AS held,
        CAST(sum(idle_held + idle_empty) AS BIGINT) AS idle,
        coalesce(list(DISTINCT account) FILTER (account IS NOT NULL), []) AS accounts
    FROM (SELECT {key}, account, at_ms, held, idle_held, idle_empty FROM ({piece})) AS p
        JOIN ({days}) AS d ON p.at_ms >= d.start_ms AND p.at_ms < d.end_ms
    GROUP BY 1, 2"""


def people(
    cur: Cursor, viewer: Viewer, window: Window, where: Filter, by: Literal["user", "account"] = "user"
) -> list[PersonRow]:
    """Returns people or accounts, most GPU-hours first."""
    piece, table = pieces(viewer, window, where, (*_COLUMNS, by)), as_table(window)
    statement = fill(_DAYS, key='"user"' if by == "user" else "account", piece=piece.sql, days=table.sql)
    daily: dict[str | None, dict[int, _Day]] = defaultdict(dict)
    for row in cur.rows(statement, piece.params | table.params, _Day):
        daily[row.key][row.day_ms] = row
    starts = [day.start_ms for day in days(window)]
    found = [_person(row, daily[row.key], starts) for row in breakdown(cur, viewer, window, where, by)]
    return sorted(found, key=lambda row: (-row.held_gpu_h, row.key or ""))


def _person(row: HoursRow, daily: dict[int, _Day], starts: list[int]) -> PersonRow:
    in_order = [daily.get(start) for start in starts]
    return PersonRow(
        key=row.key,
        accounts=sorted({account for day in daily.values() for account in day.accounts}),
        held_gpu_h=row.held_gpu_h,
        active_gpu_h=row.active_gpu_h,
        low_gpu_h=row.low_gpu_h,
        idle_gpu_h=row.idle_gpu_h,
        unknown_gpu_h=row.unknown_gpu_h,
        active_share_pct=share_pct(row.active_gpu_h, row.measured_gpu_h),
        idle_share_pct=share_pct(row.idle_gpu_h, row.measured_gpu_h),
        coverage=row.coverage,
        energy_kwh=row.energy_kwh,
        runs=row.runs,
        findings=row.findings,
        little=row.held_gpu_h < LITTLE_GPU_H,
        daily_gpu_h=[gpu_h(day.held) if day else 0.0 for day in in_order],
        daily_idle_gpu_h=[gpu_h(day.idle) if day else 0.0 for day in in_order],
    )
