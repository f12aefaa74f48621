"""Findings: what was seen in runs, what it explains in GPU-hours, and what could not be judged."""

import msgspec

from analytics.model import Filter, Provenance, Viewer, Window
from store.database import Cursor


class FindingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One finding. ``gpu_h`` are the GPU-hours it explains; a GPU-hour is explained by one finding only."""

    id: int
    rule: str
    rule_version: int
    title: str
    sentence: str
    fix: str
    run_key: int | None
    job_id: str | None
    job_id_raw: str | None
    cluster: str | None
    user: str | None
    account: str | None
    partition: str | None
    name: str | None
    start_ms: int
    end_ms: int
    open: bool
    gpu_h: float
    confidence: str
    coverage: float
    numbers: dict[str, object]
    thresholds: dict[str, object]
    found_ms: int


class RuleTotal(msgspec.Struct, frozen=True, kw_only=True):
    """Findings of one rule over the whole filter."""

    rule: str
    title: str
    count: int
    gpu_h: float


class FindingTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Over the whole filter, not the page."""

    count: int
    gpu_h: float
    runs: int
    by_rule: list[RuleTotal]


class FindingPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page, most GPU-hours first; ``next`` is the next offset or None."""

    items: list[FindingRow]
    total: FindingTotals
    next: int | None
    provenance: Provenance


class UnjudgedRow(msgspec.Struct, frozen=True, kw_only=True):
    """Runs on which a rule could not be judged, for one reason."""

    rule: str
    title: str
    reason: str
    runs: int
    gpu_h: float


class IdleNow(msgspec.Struct, frozen=True, kw_only=True):
    """A running run whose GPUs are all idle up to the newest row."""

    run_key: int
    job_id: str
    cluster: str
    kind: str
    name: str | None
    user: str | None
    account: str | None
    partition: str | None
    gpus: int
    idle_ms: int
    idle_gpu_h: float
    finding_id: int | None


def findings(
    cur: Cursor,
    viewer: Viewer,
    window: Window,
    where: Filter,
    *,
    limit: int = 50,
    offset: int = 0,
    open_only: bool = False,
) -> FindingPage:
    """Returns the findings on runs whose span [start, end) meets the window, most GPU-hours first."""
    raise NotImplementedError


def explain(cur: Cursor, viewer: Viewer, finding_id: int) -> FindingRow | None:
    """Returns one finding as it was judged, or None where there is none that the viewer may see."""
    raise NotImplementedError


def unjudged(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> list[UnjudgedRow]:
    """Returns what could not be judged in the window, by rule and reason, most GPU-hours first."""
    raise NotImplementedError


def idle_now(cur: Cursor, viewer: Viewer, where: Filter, limit: int = 10) -> list[IdleNow]:
    """Returns running runs that are idle now, most idle GPU-hours since the last activity first."""
    raise NotImplementedError
