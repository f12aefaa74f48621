"""The archive of weekly reports: kept as made, with their revisions."""

from typing import Final

import msgspec

from analytics.model import Viewer
from analytics.queries.scope import ALWAYS, Condition, Params, fill
from store.database import Cursor


class ReportRow(msgspec.Struct, frozen=True, kw_only=True):
    """One revision. ``scope`` is cluster, account:A or user:U; ``week`` such as 2026-W48."""

    scope: str
    week: str
    revision: int
    made_ms: int
    data_to_ms: int


class ReportText(msgspec.Struct, frozen=True, kw_only=True):
    """The report as kept; ``figures`` is JSON."""

    row: ReportRow
    html: str
    text: str
    figures: str


class ReportPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page, newest first; ``next`` is the next offset or None."""

    items: list[ReportRow]
    count: int
    next: int | None


_ARCHIVE: Final = """
    SELECT scope, week, revision, made_ms, data_to_ms FROM report WHERE {where}
    ORDER BY week DESC, scope, revision DESC LIMIT $limit OFFSET $offset"""

_COUNT: Final = "SELECT count(*) FROM report WHERE {where}"

_REPORT: Final = """
    SELECT scope, week, revision, made_ms, data_to_ms, html, text, figures FROM report
    WHERE {where} AND scope = $scope AND week = $week AND ($revision IS NULL OR revision = $revision)
    ORDER BY revision DESC LIMIT 1"""


def _visible(viewer: Viewer) -> Condition:
    """The cluster's report is the administrators'; people see their own, accounts also their accounts'."""
    if viewer.kind == "admin":
        return ALWAYS
    accounts = viewer.accounts if viewer.kind == "account" else ()
    scopes = [f"account:{account}" for account in accounts] + ([f"user:{viewer.user}"] if viewer.user else [])
    return Condition("list_contains(CAST($scopes AS VARCHAR[]), scope)", {"scopes": scopes})


def archive(cur: Cursor, viewer: Viewer, *, scope: str | None = None, limit: int = 50, offset: int = 0) -> ReportPage:
    """Returns the archive, newest week first."""
    where = _visible(viewer)
    if scope is not None:
        where &= Condition("scope = $scope", {"scope": scope})
    count = int(cur.scalar(fill(_COUNT, where=where.sql), where.params))
    page: Params = where.params | {"limit": limit, "offset": offset}
    return ReportPage(
        items=cur.rows(fill(_ARCHIVE, where=where.sql), page, ReportRow),
        count=count,
        next=offset + limit if offset + limit < count else None,
    )


def report(cur: Cursor, viewer: Viewer, scope: str, week: str, revision: int | None = None) -> ReportText | None:
    """Returns one report, the newest revision unless told, or None where the viewer may see none."""
    where = _visible(viewer)
    params = where.params | {"scope": scope, "week": week, "revision": revision}
    found = cur.tuples(fill(_REPORT, where=where.sql), params)
    if not found:
        return None
    *known, html, text, figures = found[0]
    names = ("scope", "week", "revision", "made_ms", "data_to_ms")
    return ReportText(row=ReportRow(**dict(zip(names, known, strict=True))), html=html, text=text, figures=figures)
