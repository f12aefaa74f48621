"""Recommendations: what to ask for next time, with the gain and the runs they rest on."""

import msgspec

from analytics.model import Filter, Provenance, Viewer, Window
from store.database import Cursor


class RecommendationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One family's next request. ``status`` is new, notified, taken, dismissed or withdrawn."""

    id: str
    kind: str
    title: str
    family: str
    cluster: str
    user: str | None
    account: str | None
    partition: str | None
    model: str | None
    name: str | None
    current: str
    proposed: str
    before_lines: list[str]
    after_lines: list[str]
    gain: str
    gpu_h_week: float
    energy_kwh_week: float | None
    confidence: str
    provisional: bool
    runs: int
    submissions: int
    would_have_failed: int
    run_keys: list[int]
    missing: str | None
    status: str
    made_ms: int
    last_run_ms: int


class RecommendationTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Over the whole filter, not the page. Those that still miss evidence are counted apart and free no hours."""

    count: int
    gpu_h_week: float
    missing_evidence: int


class RecommendationPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page, most GPU-hours a week first; ``next`` is the next offset or None."""

    items: list[RecommendationRow]
    total: RecommendationTotals
    next: int | None
    provenance: Provenance


def recommendations(
    cur: Cursor,
    viewer: Viewer,
    window: Window,
    where: Filter,
    *,
    limit: int = 50,
    offset: int = 0,
    with_missing: bool = False,
) -> RecommendationPage:
    """Returns recommendations whose family last ran in the window; with ``with_missing`` also what lacks evidence."""
    raise NotImplementedError
