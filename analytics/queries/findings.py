"""Findings: what was seen in runs, what it explains in GPU-hours, and what could not be judged."""

from typing import Any, Final

import msgspec

from analytics.family import masked
from analytics.model import HOUR_MS, MINUTE_MS, Filter, Provenance, Viewer, Window
from analytics.queries.pieces import UNITS_PER_GPU_H, WEIGHT
from analytics.queries.scope import Condition, Params, fill, of_runs_on_places, visible
from analytics.queries.site import data_to
from analytics.wording import BUSY_RULES, rule_title
from store.database import Cursor


class FindingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One finding. A GPU-hour is explained by one finding only.

    ``gpu_h`` are the GPU-hours it explains: in a list those within the window, of a run or a single finding all.
    """

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
    masked_name: str
    family: str | None
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


# Findings on a node, with no run, are the administrators' only.
_FROM: Final = """
    FROM finding f LEFT JOIN run r ON r.run_key = f.run_key
    LEFT JOIN footprint_run p ON p.run_key = f.run_key WHERE {where}"""

# A window counts only the hours that lie in it, as with every other figure. An hour belongs to the window in which it
# begins, so that weeks add up exactly in zones that are not whole hours from UTC, too.
_IN_WINDOW: Final = """
    FROM (
        SELECT f.* REPLACE (coalesce(within.gpu_ms, 0) AS gpu_ms)
        FROM (SELECT * FROM finding f WHERE f.start_ms < $end AND f.end_ms >= $start) AS f LEFT JOIN (
            SELECT run_key, rule, CAST(sum(gpu_ms) AS BIGINT) AS gpu_ms FROM finding_hour
            WHERE hour_ms >= $start AND hour_ms < $end GROUP BY ALL) AS within
        ON within.run_key = f.run_key AND within.rule = f.rule) AS f
    {run} WHERE {where}"""

_RUN: Final = "LEFT JOIN run r ON r.run_key = f.run_key"

# Words are made of the findings of a page alone, not of all that a window has.
_PAGE: Final = """
    FROM (SELECT f.* {source} ORDER BY f.gpu_ms DESC, f.finding_id DESC LIMIT $limit OFFSET $offset) AS f
    LEFT JOIN run r ON r.run_key = f.run_key
    LEFT JOIN footprint_run p ON p.run_key = f.run_key ORDER BY f.gpu_ms DESC, f.finding_id DESC"""

_ROWS: Final = f"""
    SELECT f.finding_id AS id, f.rule, f.rule_version, f.title, f.sentence, f.fix, f.run_key, r.job_id, r.job_id_raw,
        r.cluster, r.user_name AS "user", r.account, r."partition", r.name,
        {masked("r.name")} AS masked_name, p.family, f.start_ms, f.end_ms,
        f.closed_ms IS NULL AS open, f.gpu_ms, f.confidence, f.coverage, f.numbers, f.thresholds, f.found_ms"""

_BY_RULE: Final = """
    SELECT f.rule, count(*) AS count, CAST(sum(f.gpu_ms) AS BIGINT) AS gpu_ms, list(DISTINCT f.run_key) AS run_keys
    {source} GROUP BY f.rule ORDER BY gpu_ms DESC, f.rule"""

_UNJUDGED: Final = """
    SELECT u.rule, u.reason, count(DISTINCT u.run_key) AS runs, CAST(sum(u.gpu_ms) AS BIGINT) AS gpu_ms
    FROM unjudged u JOIN run r ON r.run_key = u.run_key
    WHERE {where} GROUP BY ALL ORDER BY gpu_ms DESC, u.rule, u.reason"""

_MEETS: Final = "r.start_ms < $end AND (r.end_ms IS NULL OR r.end_ms > $start)"

# A footprint says how long every GPU of a running run had been idle at its newest row (definitions, idle_now); the
# minutes since then confirm it, or the run is not listed.
_IDLE_NOW: Final = """
    WITH candidate AS (
        SELECT p.run_key, p.recent_idle_ms, p.last_row_ms, p.gpus
        FROM footprint_run p JOIN run r ON r.run_key = p.run_key
        WHERE r.end_ms IS NULL AND NOT p.finished AND p.recent_idle_ms > 0 AND p.last_row_ms >= $oldest AND {where}),
    since AS (
        SELECT m.run_key, max(m.minute_ms) + 60000 AS to_ms, sum(m.active_ms + m.low_ms) AS busy_ms
        FROM gpu_minute m JOIN candidate c ON c.run_key = m.run_key
        WHERE m.minute_ms >= $oldest AND m.minute_ms >= c.last_row_ms AND m.covered_ms > 0 GROUP BY m.run_key),
    idle AS (
        SELECT c.run_key, c.gpus, greatest(c.last_row_ms, coalesce(s.to_ms, 0)) AS to_ms,
            c.recent_idle_ms + greatest(0, least(coalesce(s.to_ms, 0), $data_to) - c.last_row_ms) AS idle_ms
        FROM candidate c LEFT JOIN since s ON s.run_key = c.run_key WHERE coalesce(s.busy_ms, 0) = 0)
    SELECT r.run_key, r.job_id, r.cluster, r.kind, r.name, r.user_name AS "user", r.account, r."partition",
        coalesce(r.alloc_gpus, i.gpus) AS gpus, i.idle_ms,
        i.idle_ms * coalesce((
            SELECT CAST(sum({weight}) AS BIGINT) FROM allocation a LEFT JOIN gpu g ON g.gpu_key = a.gpu_key
            WHERE a.run_key = r.run_key AND (a.end_ms IS NULL OR r.kind = 'session')), 0) / {units} AS idle_gpu_h,
        (SELECT min(f.finding_id) FROM finding f WHERE f.run_key = r.run_key AND f.closed_ms IS NULL
            AND f.rule IN ('idle_now', 'interactive_idle')) AS finding_id
    FROM idle i JOIN run r ON r.run_key = i.run_key
    WHERE i.idle_ms >= $least AND i.to_ms >= $fresh ORDER BY idle_gpu_h DESC, r.run_key LIMIT $limit"""

IDLE_NOW_MS: Final = HOUR_MS
"""A run counts as idle now from this long on, as the rule of that name has it by default."""

FRESH_MS: Final = 5 * MINUTE_MS
"""A run whose newest reading is older than this is not called idle now."""

_FOOTPRINT_AGE_MS: Final = 6 * HOUR_MS  # running runs get a footprint every hour; older ones are not built upon


_PAST_FIX: Final = "Nothing to do: this is over."  # lines such as scancel would harm a job that works again

_STILL_TRUE: Final = Condition("f.closed_ms IS NULL", {})  # judged again and no longer so: kept, told by explain alone


def _where(viewer: Viewer, window: Window, where: Filter, *, with_past: bool) -> Condition:
    runs = msgspec.structs.replace(where, finding=None)
    condition = visible(viewer) & of_runs_on_places(runs)
    condition &= Condition("f.start_ms < $end AND f.end_ms >= $start", {"start": window.start_ms, "end": window.end_ms})
    if viewer.kind != "admin" or runs != Filter():
        condition &= Condition("f.run_key IS NOT NULL", {})
    if where.finding and where.finding != "any":
        condition &= Condition("f.rule = $rule", {"rule": where.finding})
    return condition if with_past else condition & _STILL_TRUE


def _in_window(condition: Condition) -> str:
    """Returns FROM and WHERE of findings ``f``; their runs ``r`` are joined only where they are asked for."""
    return fill(_IN_WINDOW, run=_RUN if "r." in condition.sql else "", where=condition.sql)


def findings(
    cur: Cursor,
    viewer: Viewer,
    window: Window,
    where: Filter,
    *,
    limit: int = 50,
    offset: int = 0,
    with_past: bool = False,
) -> FindingPage:
    """Returns the findings whose span [start, end] meets the window, most GPU-hours first.

    One that is over, such as a job that was idle and works again, is left out unless ``with_past``. Of the hours that
    a finding explains those within the window count. Sizes in the filter are not looked at: they are of runs.
    """
    condition = _where(viewer, window, where, with_past=with_past)
    source = _in_window(condition)
    by_rule = cur.tuples(fill(_BY_RULE, source=source), condition.params)
    page: Params = condition.params | {"limit": limit, "offset": offset}
    rows = cur.tuples(f"{_ROWS} {fill(_PAGE, source=source)}", page)
    count = sum(row[1] for row in by_rule)
    return FindingPage(
        items=[_finding(*row) for row in rows],
        total=FindingTotals(
            count=count,
            gpu_h=sum(row[2] for row in by_rule) / HOUR_MS,
            runs=len({run_key for row in by_rule for run_key in row[3]} - {None}),
            by_rule=[
                RuleTotal(rule=rule, title=rule_title(rule), count=number, gpu_h=gpu_ms / HOUR_MS)
                for rule, number, gpu_ms, _ in by_rule
            ],
        ),
        next=offset + limit if offset + limit < count else None,
        provenance=Provenance(query="findings", window=window, filter=where, data_to_ms=data_to(cur)),
    )


def largest(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> RuleTotal | None:
    """Returns the kind of finding that explains the most GPU-hours of the window, all of them idle, or None."""
    condition = _where(viewer, window, where, with_past=False)
    condition &= Condition("f.rule NOT IN (SELECT unnest($busy))", {"busy": list(BUSY_RULES)})
    statement = fill(_BY_RULE, source=_in_window(condition))
    for rule, count, gpu_ms, _ in cur.tuples(f"{statement} LIMIT 1", condition.params):
        return RuleTotal(rule=rule, title=rule_title(rule), count=count, gpu_h=gpu_ms / HOUR_MS)
    return None


def of_run(cur: Cursor, viewer: Viewer, run_key: int) -> list[FindingRow]:
    """Returns the findings of one run, most GPU-hours first."""
    condition = visible(viewer) & Condition("f.run_key = $run_key", {"run_key": run_key}) & _STILL_TRUE
    source = fill(_FROM, where=condition.sql)
    rows = cur.tuples(f"{_ROWS} {source} ORDER BY f.gpu_ms DESC, f.finding_id", condition.params)
    return [_finding(*row) for row in rows]


def explain(cur: Cursor, viewer: Viewer, finding_id: int) -> FindingRow | None:
    """Returns one finding as it was judged, or None where there is none that the viewer may see."""
    condition = visible(viewer) & Condition("f.finding_id = $finding_id", {"finding_id": finding_id})
    rows = cur.tuples(f"{_ROWS} {fill(_FROM, where=condition.sql)}", condition.params)
    return _finding(*rows[0]) if rows else None


def unjudged(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> list[UnjudgedRow]:
    """Returns what could not be judged on runs that meet the window, by rule and reason, most GPU-hours first."""
    condition = visible(viewer) & of_runs_on_places(where)
    condition &= Condition(_MEETS, {"start": window.start_ms, "end": window.end_ms})
    return _unjudged(cur, condition)


def unjudged_of_run(cur: Cursor, viewer: Viewer, run_key: int) -> list[UnjudgedRow]:
    """Returns what could not be judged on one run."""
    return _unjudged(cur, visible(viewer) & Condition("r.run_key = $run_key", {"run_key": run_key}))


def _unjudged(cur: Cursor, condition: Condition) -> list[UnjudgedRow]:
    rows = cur.tuples(fill(_UNJUDGED, where=condition.sql), condition.params)
    return [
        UnjudgedRow(rule=rule, title=rule_title(rule), reason=reason, runs=runs, gpu_h=gpu_ms / HOUR_MS)
        for rule, reason, runs, gpu_ms in rows
    ]


def idle_now(cur: Cursor, viewer: Viewer, where: Filter, limit: int = 10) -> list[IdleNow]:
    """Returns running runs that are idle now, most idle GPU-hours since the last activity first."""
    condition = visible(viewer) & of_runs_on_places(where)
    to_ms = data_to(cur) or 0
    times = {"data_to": to_ms, "fresh": to_ms - FRESH_MS, "oldest": to_ms - _FOOTPRINT_AGE_MS}
    statement = fill(_IDLE_NOW, weight=WEIGHT, units=str(UNITS_PER_GPU_H), where=condition.sql)
    return cur.rows(statement, condition.params | times | {"least": IDLE_NOW_MS, "limit": limit}, IdleNow)


def _finding(*values: Any) -> FindingRow:
    row = dict(zip(_COLUMNS, values, strict=True))
    gpu_ms = row.pop("gpu_ms")
    row["fix"] = row["fix"] if row["open"] else _PAST_FIX
    numbers, thresholds = (msgspec.json.decode(row.pop(name)) for name in ("numbers", "thresholds"))
    return FindingRow(**row, gpu_h=gpu_ms / HOUR_MS, numbers=numbers, thresholds=thresholds)


_COLUMNS: Final = (
    "id", "rule", "rule_version", "title", "sentence", "fix", "run_key", "job_id", "job_id_raw", "cluster", "user",
    "account", "partition", "name", "masked_name", "family", "start_ms", "end_ms", "open", "gpu_ms", "confidence",
    "coverage", "numbers", "thresholds", "found_ms",
)  # fmt: skip
