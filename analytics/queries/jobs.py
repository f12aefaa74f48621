"""Runs with their GPU-hours in the window: the table behind every figure. Its total row equals :func:`hours.hours`."""

from typing import Literal

import msgspec

from analytics.model import Filter, Provenance, Viewer, Window
from store.database import Cursor

Sort = Literal[
    "job", "name", "user", "account", "partition", "state", "gpus", "model", "start", "elapsed", "gpu_h", "util", "sm",
    "memory", "power", "idle_gpu_h", "unknown_gpu_h", "coverage", "findings",
]  # fmt: skip


class FindingMark(msgspec.Struct, frozen=True, kw_only=True):
    """A finding as a table shows it."""

    id: int
    rule: str
    title: str


class StripPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a state strip: the state that most of the run's GPUs had for ``ms``."""

    state: str
    ms: int


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run. GPU-hours, means and maxima are of its overlap with the window; start, end and strip are of its life."""

    run_key: int
    job_id: str
    job_id_raw: str
    cluster: str
    kind: str
    name: str | None
    user: str | None
    account: str | None
    partition: str | None
    state: str
    gpus: int
    model: str | None
    start_ms: int
    end_ms: int | None
    elapsed_ms: int
    gpu_h: float
    util_mean_pct: float | None
    sm_mean_pct: float | None
    mem_max_ratio: float | None
    power_mean_ratio: float | None
    idle_gpu_h: float
    unknown_gpu_h: float
    coverage: float | None
    findings: list[FindingMark]
    strip: list[StripPart]


class JobTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Totals over the whole filter, not the page."""

    count: int
    gpu_h: float
    active_gpu_h: float
    low_gpu_h: float
    idle_gpu_h: float
    unknown_gpu_h: float


class JobPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page; ``next`` is the next offset or None."""

    items: list[JobRow]
    total: JobTotals
    next: int | None
    provenance: Provenance


def jobs(
    cur: Cursor,
    viewer: Viewer,
    window: Window,
    where: Filter,
    *,
    sort: Sort = "idle_gpu_h",
    descending: bool = True,
    limit: int = 50,
    offset: int = 0,
) -> JobPage:
    """Returns the runs that held GPUs in the window. Unknown values sort last either way."""
    raise NotImplementedError
