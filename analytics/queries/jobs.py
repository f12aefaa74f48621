"""Runs with their GPU-hours in the window: the table behind every figure. Its total row equals :func:`hours.hours`."""

from collections import defaultdict
from typing import Final, Literal, get_args

import msgspec

from analytics.model import Filter, Provenance, Viewer, Window
from analytics.queries.figures import gpu_h, ratio
from analytics.queries.runs import of_these, per_run
from analytics.queries.scope import fill
from analytics.queries.site import data_to
from analytics.queries.strips import StripPart, strips
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


_ELAPSED: Final = "coalesce(r.end_ms, greatest(r.start_ms, $data_to)) - r.start_ms"

_ORDER: Final[dict[Sort, str]] = {
    "job": "TRY_CAST(regexp_extract(r.job_id_raw, '[0-9]+') AS BIGINT)",
    "name": "lower(r.name)",
    "user": "r.user_name",
    "account": "r.account",
    "partition": 'r."partition"',
    "state": "r.state",
    "gpus": "coalesce(r.alloc_gpus, p.seen_gpus)",
    "model": "p.model",
    "start": "r.start_ms",
    "elapsed": _ELAPSED,
    "gpu_h": "p.held",
    "util": "p.util_mean_pct",
    "sm": "p.sm_mean_pct",
    "memory": "p.mem_max_ratio",
    "power": "p.power_mean_ratio",
    "idle_gpu_h": "p.idle",
    "unknown_gpu_h": "p.unknown",
    "coverage": "(p.held - p.unknown) / nullif(p.held - p.unmeasurable, 0)",
    "findings": "(SELECT count(*) FROM finding f WHERE f.run_key = p.run_key AND f.closed_ms IS NULL)",
}

MAX_STRIPS: Final = 1000

SORTS: Final[tuple[Sort, ...]] = get_args(Sort)

_THEN: Final = "NULLS LAST, p.held DESC, p.run_key DESC"

# Which runs are on the page and what all add up to is told from a few columns; the rest is read for those of the page.
_WHICH: Final = """
    WITH p AS MATERIALIZED ({runs}), total AS (SELECT count(*) AS of_count, {sums} FROM p)
    SELECT p.run_key, total.* FROM p {join} CROSS JOIN total ORDER BY {order} {then} LIMIT $limit OFFSET $offset"""

_JOBS: Final = """
    SELECT p.*, r.job_id, r.job_id_raw, r.cluster, r.kind, r.name, r.user_name AS "user", r.account, r."partition",
        r.state, coalesce(r.alloc_gpus, p.seen_gpus) AS gpus, r.start_ms, r.end_ms, {elapsed} AS elapsed_ms
    FROM ({runs}) AS p JOIN run r ON r.run_key = p.run_key"""

_COLUMNS: Final = (
    *("held", "active", "low", "idle", "unknown", "unmeasurable", "util_mean_pct", "sm_mean_pct", "mem_max_ratio"),
    *("power_mean_ratio", "seen_gpus", "model"),
)

_SUMMED: Final = ("held", "active", "low", "idle", "unknown", "unmeasurable")
_SUMS: Final = ", ".join(f"CAST(sum({name}) AS BIGINT) AS of_{name}" for name in _SUMMED)

_MARKS: Final = """
    SELECT run_key, finding_id AS id, rule, title FROM finding
    WHERE run_key IN (SELECT unnest($run_keys)) AND closed_ms IS NULL
    ORDER BY gpu_ms DESC, finding_id"""


class _Row(msgspec.Struct, frozen=True):
    run_key: int
    held: int
    active: int
    low: int
    idle: int
    unknown: int
    unmeasurable: int
    util_mean_pct: float | None
    sm_mean_pct: float | None
    mem_max_ratio: float | None
    power_mean_ratio: float | None
    seen_gpus: int
    model: str | None
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
    start_ms: int
    end_ms: int | None
    elapsed_ms: int


class _Total(msgspec.Struct, frozen=True):
    """Of the whole filter, told with each run of the page: one statement, one pass."""

    run_key: int
    of_count: int
    of_held: int
    of_active: int
    of_low: int
    of_idle: int
    of_unknown: int
    of_unmeasurable: int


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
    """Returns the runs that held GPUs in the window. Unknown values sort last either way.

    A page longer than MAX_STRIPS is a file for programs: its rows have no strip.
    """
    to_ms = data_to(cur)
    found = _which(cur, viewer, window, where, sort, (limit, offset), descending=descending)
    # Past the last page there is no row to tell the totals: the first one does.
    total = found or (_which(cur, viewer, window, where, sort, (1, 0), descending=descending) if offset else [])
    keys = [row.run_key for row in found]
    rows = _rows(cur, viewer, window, where, keys)
    marks = _marks(cur, keys)
    lives = strips(cur, keys, to_ms or window.end_ms) if limit <= MAX_STRIPS else {}
    totals = total[0] if total else None
    return JobPage(
        items=[_job(row, marks[row.run_key], lives.get(row.run_key, [])) for row in rows],
        total=_totals(totals),
        next=offset + limit if totals and offset + limit < totals.of_count else None,
        provenance=Provenance(
            query="jobs",
            window=window,
            filter=where,
            data_to_ms=to_ms,
            coverage=ratio(totals.of_held - totals.of_unknown, totals.of_held - totals.of_unmeasurable)
            if totals
            else None,
        ),
    )


def _which(
    cur: Cursor,
    viewer: Viewer,
    window: Window,
    where: Filter,
    sort: Sort,
    part: tuple[int, int],
    *,
    descending: bool,
) -> list[_Total]:
    order = f"{_ORDER[sort]} {'DESC' if descending else 'ASC'}"
    columns = dict.fromkeys([*_SUMMED, *(name for name in _COLUMNS if f"p.{name}" in order)])
    runs = per_run(viewer, window, where, columns)
    params = runs.params | {"limit": part[0], "offset": part[1]}
    if "$data_to" in order:
        params |= {"data_to": data_to(cur) or window.end_ms}
    join = "JOIN run r ON r.run_key = p.run_key" if "r." in order else ""
    statement = fill(_WHICH, sums=_SUMS, runs=runs.sql, join=join, order=order, then=_THEN)
    return cur.rows(statement, params, _Total)


def _rows(cur: Cursor, viewer: Viewer, window: Window, where: Filter, keys: list[int]) -> list[_Row]:
    """The runs of a page, in the order of their keys."""
    if not keys:
        return []
    runs = per_run(viewer, window, where, _COLUMNS, also=of_these(keys))
    params = runs.params | {"data_to": data_to(cur) or window.end_ms}
    found = {row.run_key: row for row in cur.rows(fill(_JOBS, runs=runs.sql, elapsed=_ELAPSED), params, _Row)}
    return [found[key] for key in keys]


def _totals(row: _Total | None) -> JobTotals:
    if row is None:
        return JobTotals(count=0, gpu_h=0, active_gpu_h=0, low_gpu_h=0, idle_gpu_h=0, unknown_gpu_h=0)
    return JobTotals(
        count=row.of_count,
        gpu_h=gpu_h(row.of_held),
        active_gpu_h=gpu_h(row.of_active),
        low_gpu_h=gpu_h(row.of_low),
        idle_gpu_h=gpu_h(row.of_idle),
        unknown_gpu_h=gpu_h(row.of_unknown),
    )


def _marks(cur: Cursor, run_keys: list[int]) -> dict[int, list[FindingMark]]:
    found: dict[int, list[FindingMark]] = defaultdict(list)
    for run_key, finding_id, rule, title in cur.tuples(_MARKS, {"run_keys": run_keys}) if run_keys else ():
        found[run_key].append(FindingMark(id=finding_id, rule=rule, title=title))
    return found


def _job(row: _Row, marks: list[FindingMark], strip: list[StripPart]) -> JobRow:
    return JobRow(
        run_key=row.run_key,
        job_id=row.job_id,
        job_id_raw=row.job_id_raw,
        cluster=row.cluster,
        kind=row.kind,
        name=row.name,
        user=row.user,
        account=row.account,
        partition=row.partition,
        state=row.state,
        gpus=row.gpus,
        model=row.model,
        start_ms=row.start_ms,
        end_ms=row.end_ms,
        elapsed_ms=row.elapsed_ms,
        gpu_h=gpu_h(row.held),
        util_mean_pct=row.util_mean_pct,
        sm_mean_pct=row.sm_mean_pct,
        mem_max_ratio=row.mem_max_ratio,
        power_mean_ratio=row.power_mean_ratio,
        idle_gpu_h=gpu_h(row.idle),
        unknown_gpu_h=gpu_h(row.unknown),
        coverage=ratio(row.held - row.unknown, row.held - row.unmeasurable),
        findings=marks,
        strip=strip,
    )
