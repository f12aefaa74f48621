"""Recommendations: what to ask for next time, with the gain and the runs they rest on."""

from typing import Final

import msgspec

from analytics.model import HOUR_MS, Filter, Provenance, Viewer, Window
from analytics.queries.scope import Condition, Params, fill, like, of_runs_on_places, visible
from analytics.queries.site import data_to
from analytics.recommendation_words import freed, rests_on
from analytics.wording import RECOMMENDATIONS
from store.database import Cursor


class RecommendationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One family's next request. ``status`` is new, notified, taken, dismissed or withdrawn.

    ``runs`` are those it is drawn from, of ``family_runs`` in the last ``over_ms``; figures a week are their mean.
    """

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
    family_runs: int
    over_ms: int

    @property
    def freed(self) -> str:
        """What it frees, in words."""
        return freed(self.gpu_h_week, self.over_ms, self.energy_kwh_week)

    @property
    def rests_on(self) -> str:
        """What it rests on, in words that begin small."""
        return rests_on(
            runs=self.runs,
            submissions=self.submissions,
            family_runs=self.family_runs,
            over_ms=self.over_ms,
            would_have_failed=self.would_have_failed,
        )


class RecommendationTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Over the whole filter, not the page.

    ``freeing`` of ``count`` free GPU-hours, ``more_cores`` ask for more CPUs, the others ask for less. Those that still
    miss evidence are counted apart and free no hours.
    """

    count: int
    freeing: int
    more_cores: int
    gpu_h_week: float
    missing_evidence: int


class RecommendationPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page, most GPU-hours a week first; ``next`` is the next offset or None."""

    items: list[RecommendationRow]
    total: RecommendationTotals
    next: int | None
    provenance: Provenance


# A row of ``recommendation`` is named r and carries user_name and account, as the condition on who may see it expects.
_SOURCE: Final = """
    FROM recommendation r LEFT JOIN (
        SELECT subject, arg_max(kind, at_ms) AS status FROM act
        WHERE kind IN ('notified', 'taken', 'dismissed', 'withdrawn') GROUP BY subject) AS a
        ON a.subject = r.recommendation_id
    WHERE {where}"""

_ROWS: Final = """
    SELECT r.recommendation_id AS id, r.kind, r.family, r.cluster, r.user_name AS "user", r.account, r."partition",
        r.model, r.name, r.current, r.proposed, r.before_lines, r.after_lines, r.gain, r.gpu_ms_week, r.energy_j_week,
        r.confidence, r.provisional, r.runs, r.submissions, r.would_have_failed, r.run_keys, r.missing,
        coalesce(a.status, 'new') AS status, r.made_ms, r.last_run_ms, r.family_runs,
        r.over_ms {source}
    ORDER BY r.missing IS NOT NULL, r.gpu_ms_week DESC, r.recommendation_id LIMIT $limit OFFSET $offset"""

_TOTALS: Final = """
    SELECT count(*) FILTER (r.missing IS NULL), count(*) FILTER (r.missing IS NULL AND r.gpu_ms_week > 0),
        count(*) FILTER (r.missing IS NULL AND r.kind = 'cores' AND r.gpu_ms_week = 0),
        CAST(coalesce(sum(r.gpu_ms_week) FILTER (r.missing IS NULL), 0) AS BIGINT),
        count(*) FILTER (r.missing IS NOT NULL) {source}"""


class _Row(msgspec.Struct, frozen=True):
    id: str
    kind: str
    family: str
    cluster: str
    user: str | None
    account: str | None
    partition: str | None
    model: str | None
    name: str | None
    current: str
    proposed: str
    before_lines: str
    after_lines: str
    gain: str
    gpu_ms_week: int
    energy_j_week: float | None
    confidence: str
    provisional: bool
    runs: int
    submissions: int
    would_have_failed: int
    run_keys: str
    missing: str | None
    status: str
    made_ms: int
    last_run_ms: int
    family_runs: int
    over_ms: int


_EQUAL: Final = {
    "cluster": "r.cluster = $rec_cluster",
    "user": "r.user_name = $rec_user",
    "account": "r.account = $rec_account",
    "partition": 'r."partition" = $rec_partition',
    "model": "r.model = $rec_model",
    "family": "r.family = $rec_family",
}

# What only runs can answer is asked of the family's runs.
_OF_RUNS: Final = """r.family IN (
    SELECT p.family FROM footprint_run p JOIN run r ON r.run_key = p.run_key WHERE {runs})"""


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
    times: Params = {"start": window.start_ms, "end": window.end_ms}
    condition = visible(viewer) & _of(where) & Condition("r.last_run_ms >= $start AND r.last_run_ms <= $end", times)
    if not with_missing:
        condition &= Condition("r.missing IS NULL", {})
    source = fill(_SOURCE, where=condition.sql)
    ready, freeing, cores, gpu_ms_week, lacking = cur.tuples(fill(_TOTALS, source=source), condition.params)[0]
    page: Params = condition.params | {"limit": limit, "offset": offset}
    return RecommendationPage(
        items=[_recommendation(row) for row in cur.rows(fill(_ROWS, source=source), page, _Row)],
        total=RecommendationTotals(
            count=ready,
            freeing=freeing,
            more_cores=cores,
            gpu_h_week=gpu_ms_week / HOUR_MS,
            missing_evidence=lacking,
        ),
        next=offset + limit if offset + limit < ready + lacking else None,
        provenance=Provenance(query="recommendations", window=window, filter=where, data_to_ms=data_to(cur)),
    )


def of_family(cur: Cursor, viewer: Viewer, family: str) -> list[RecommendationRow]:
    """Returns what is recommended for one family of runs, also what still lacks evidence."""
    condition = visible(viewer) & Condition("r.family = $family", {"family": family})
    params: Params = condition.params | {"limit": 20, "offset": 0}
    rows = cur.rows(fill(_ROWS, source=fill(_SOURCE, where=condition.sql)), params, _Row)
    return [_recommendation(row) for row in rows]


def _of(where: Filter) -> Condition:
    condition = Condition("TRUE", {})
    for name, sql in _EQUAL.items():
        value = getattr(where, name)
        if value is not None:
            condition &= Condition(sql, {f"rec_{name}": value})
    if where.text:
        condition &= Condition("r.name ILIKE $rec_text ESCAPE '\\'", {"rec_text": like(where.text)})
    if where.node or where.state or where.finding:
        runs = of_runs_on_places(Filter(node=where.node, state=where.state, finding=where.finding))
        condition &= Condition(fill(_OF_RUNS, runs=runs.sql), runs.params)
    return condition


def _recommendation(row: _Row) -> RecommendationRow:
    energy = row.energy_j_week
    return RecommendationRow(
        id=row.id,
        kind=row.kind,
        title=RECOMMENDATIONS.get(row.kind, row.kind.replace("_", " ")),
        family=row.family,
        cluster=row.cluster,
        user=row.user,
        account=row.account,
        partition=row.partition,
        model=row.model,
        name=row.name,
        current=row.current,
        proposed=row.proposed,
        before_lines=row.before_lines.splitlines(),
        after_lines=row.after_lines.splitlines(),
        gain=row.gain,
        gpu_h_week=row.gpu_ms_week / HOUR_MS,
        energy_kwh_week=None if energy is None else energy / 3.6e6,
        confidence=row.confidence,
        provisional=row.provisional,
        runs=row.runs,
        submissions=row.submissions,
        would_have_failed=row.would_have_failed,
        run_keys=msgspec.json.decode(row.run_keys, type=list[int]),
        missing=row.missing,
        status=row.status,
        made_ms=row.made_ms,
        last_run_ms=row.last_run_ms,
        family_runs=row.family_runs,
        over_ms=row.over_ms,
    )
