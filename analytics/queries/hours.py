"""GPU-hours by what the GPUs did: in total and broken down by whose, where and when. The rows add up to the total."""

from typing import Final, Literal

import msgspec

from analytics.model import Filter, Provenance, Viewer, Window
from analytics.queries.capacity import capacity, total
from analytics.queries.days import as_table
from analytics.queries.effective import Source, effective
from analytics.queries.figures import Figures, Sums, figures, gpu_h
from analytics.queries.pieces import FIGURE_COLUMNS, FIGURES, pieces
from analytics.queries.scope import fill, is_whole
from analytics.queries.site import data_to
from store.database import Cursor

By = Literal["user", "account", "partition", "model", "node", "cluster", "day"]


class Hours(Figures, frozen=True, kw_only=True):
    """The total of a window. Capacity and what follows from it are None where a filter names runs, users or parts.

    ``effective_ratio`` (0-1) is of the held GPU-hours that can be told, ``effective_gpu_h`` that share of the measured.
    """

    capacity_gpu_h: float | None
    unallocated_gpu_h: float | None
    stray_gpu_h: float | None
    effective_ratio: float | None
    effective_gpu_h: float | None
    effective_source: Source | None
    provenance: Provenance


class HoursRow(Figures, frozen=True, kw_only=True):
    """One row of a breakdown. ``key`` is None where it is not known; ``start_ms`` is set for ``by='day'`` only."""

    key: str | None
    start_ms: int | None
    findings: int


class _Row(Sums, frozen=True, kw_only=True):
    key: str | None
    start_ms: int | None
    findings: int


_TOTAL: Final = "SELECT {figures} FROM ({piece})"

_KEYS: Final[dict[By, str]] = {
    "user": '"user"',
    "account": "account",
    "partition": '"partition"',
    "model": "model",
    "node": "node",
    "cluster": "cluster",
    "day": "day",
}

# A run counts its findings once in every row in which it held GPUs.
_BREAKDOWN: Final = """
    WITH piece AS MATERIALIZED (SELECT piece.*, {extra} FROM ({piece}) AS piece {join}),
    seen AS (
        SELECT {key} AS key, count(DISTINCT f.finding_id) AS findings
        FROM (SELECT DISTINCT {key}, run_key FROM piece) AS s JOIN finding f ON f.run_key = s.run_key
        WHERE f.closed_ms IS NULL GROUP BY 1)
    SELECT t.*, coalesce(seen.findings, 0) AS findings
    FROM (SELECT {key} AS key, min(day_ms) AS start_ms, {figures} FROM piece GROUP BY 1) AS t
        LEFT JOIN seen ON seen.key IS NOT DISTINCT FROM t.key
    ORDER BY {order}"""

_BY_DAY: Final = """JOIN (SELECT start_ms AS day_ms, end_ms, name AS day FROM ({days})) AS d
    ON piece.at_ms >= d.day_ms AND piece.at_ms < d.end_ms"""


class _Whole(msgspec.Struct, frozen=True):
    capacity: float | None = None
    unallocated: float | None = None
    stray: float | None = None


def hours(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> Hours:
    """Returns the GPU-hours of the window, what the GPUs did in them, and how much of that is known."""
    piece = pieces(viewer, window, where, FIGURE_COLUMNS)
    sums = cur.rows(fill(_TOTAL, figures=FIGURES, piece=piece.sql), piece.params, Sums)[0]
    to_ms = data_to(cur)
    whole = _whole(cur, window, where, to_ms) if is_whole(viewer, where) and to_ms is not None else _Whole()
    work = effective(cur, viewer, window, where)
    numbers = figures(sums)
    return Hours(
        **numbers,
        capacity_gpu_h=whole.capacity,
        unallocated_gpu_h=whole.unallocated,
        stray_gpu_h=whole.stray,
        effective_ratio=work.ratio,
        effective_gpu_h=None if work.ratio is None else work.ratio * gpu_h(sums.held - sums.unknown),
        effective_source=work.source,
        provenance=Provenance(
            query="hours", window=window, filter=where, data_to_ms=to_ms, coverage=numbers["coverage"]
        ),
    )


def _whole(cur: Cursor, window: Window, where: Filter, to_ms: int) -> _Whole:
    there = capacity(cur, window, where, to_ms)
    held, stray, beyond = total(there.used)
    units = there.known(window.start_ms, min(window.end_ms, to_ms)) + beyond
    return _Whole(gpu_h(units), gpu_h(units - held - stray), gpu_h(stray))


def breakdown(cur: Cursor, viewer: Viewer, window: Window, where: Filter, by: By) -> list[HoursRow]:
    """Returns :func:`hours` split by ``by``, most idle GPU-hours first; days in order, without empty ones."""
    piece = pieces(viewer, window, where, (*FIGURE_COLUMNS, "at_ms" if by == "day" else by))
    params = piece.params
    extra, join = "NULL::BIGINT AS day_ms, NULL::VARCHAR AS day", ""
    if by == "day":
        table = as_table(window)
        params = params | table.params
        extra, join = "d.day_ms, d.day", fill(_BY_DAY, days=table.sql)
    statement = fill(
        _BREAKDOWN,
        extra=extra,
        join=join,
        piece=piece.sql,
        key=_KEYS[by],
        figures=FIGURES,
        order="t.start_ms" if by == "day" else "t.idle_held + t.idle_empty DESC, t.held DESC, t.key",
    )
    return [
        HoursRow(**figures(row), key=row.key, start_ms=row.start_ms, findings=row.findings)
        for row in cur.rows(statement, params, _Row)
    ]
