"""The archive of weekly reports: kept as made, with their revisions."""

import msgspec

from analytics.model import Viewer
from store.database import Cursor


class ReportRow(msgspec.Struct, frozen=True, kw_only=True):
    """One revision. ``scope`` is cluster, account:A or user:U; ``week`` such as 2026-W48."""

    scope: str
    week: str
    revision: int
    made_ms: int
    data_to_ms: int


class ReportText(msgspec.Struct, frozen=True, kw_only=True):
    """The report as kept."""

    row: ReportRow
    html: str
    text: str
    figures: str


class ReportPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page, newest first; ``next`` is the next offset or None."""

    items: list[ReportRow]
    count: int
    next: int | None


def archive(cur: Cursor, viewer: Viewer, *, scope: str | None = None, limit: int = 50, offset: int = 0) -> ReportPage:
    """Returns the archive, newest week first."""
    raise NotImplementedError


def report(cur: Cursor, viewer: Viewer, scope: str, week: str, revision: int | None = None) -> ReportText | None:
    """Returns one report, the newest revision unless told, or None where the viewer may see none."""
    raise NotImplementedError
