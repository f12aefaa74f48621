"""What each address of the API answers: one function an address, each over one named query."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, cast, get_args

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries import (
    demand,
    findings,
    health,
    hours,
    job,
    jobs,
    names,
    node,
    node_findings,
    nodes,
    pending,
    people,
    recommendations,
    reports,
    summary,
    timeline,
)
from analytics.requests import BadRequest, Page, parse_filter, parse_window
from dashboard.api_rows import plain
from dashboard.api_rows import window as shown_window
from store import notes as pinned
from store.database import Cursor

CSV_LIMIT: Final = 100_000
"""Rows of a file that nobody limited; more are refused, since part of the rows would look like all of them."""
_NODE_HOURS: Final = 24


class NotFound(Exception):
    """There is no such thing, or not for this viewer; the message is one sentence."""


class Asked(msgspec.Struct, frozen=True):
    """One request: who asks, with which cursor, as of when, and its parameters.

    ``as_of_ms`` is the moment the data reaches to: windows end there. ``now_ms`` is the clock: ages are told by it.
    """

    cur: Cursor
    viewer: Viewer
    now_ms: int
    as_of_ms: int
    zone: str
    values: Mapping[str, str]

    def window(self, default: str) -> Window:
        start, end, span, week = (self.values.get(name) for name in ("from", "to", "range", "week"))
        return parse_window(start, end, span or week, self.as_of_ms, self.zone, default)

    @property
    def filter(self) -> Filter:
        return parse_filter(self.values)

    @property
    def csv(self) -> bool:
        return self.one_of("format", ("json", "csv"), "json") == "csv"

    @property
    def page(self) -> Page:
        page = Page.of(self.values)
        return Page(CSV_LIMIT, page.offset) if self.wants_all else page

    @property
    def wants_all(self) -> bool:
        """Whether every row is asked for and not a page of them."""
        return self.csv and not self.values.get("limit")

    def one_of(self, name: str, choices: Sequence[str], default: str) -> str:
        value = self.values.get(name) or default
        if value not in choices:
            raise BadRequest(f"{name} is one of {', '.join(choices)}.")
        return value


def _listed(asked: Asked, items: Sequence[Any], following: int | None, **more: Any) -> dict[str, Any]:
    """A list; an empty one also tells which names of its filter nobody here bears. ``loading``: figures change yet."""
    unknown = [] if items else names.unknown(asked.cur, asked.viewer, asked.filter)
    loading = pending.pending(asked.cur).sentence
    following_ = None if following is None else str(following)
    return {"items": plain(items), "next": following_, "unknown": unknown, "loading": loading, **more}


def _cut(asked: Asked, rows: Sequence[Any]) -> tuple[Sequence[Any], int | None]:
    """The page of a list that the query returns whole."""
    page = asked.page
    end = page.offset + page.limit
    return rows[page.offset : end], end if end < len(rows) else None


def summary_(asked: Asked) -> dict[str, Any]:
    """Hours, change and sentence of the overview; with ``by`` also their breakdown."""
    window = asked.window("7d")
    answer = plain(summary.summary(asked.cur, asked.viewer, window, asked.filter))
    by = asked.values.get("by")
    if by:
        chosen = cast("hours.By", asked.one_of("by", get_args(hours.By), by))
        answer["breakdown"] = plain(hours.breakdown(asked.cur, asked.viewer, window, asked.filter, chosen))
    return {"window": shown_window(window), **answer}


def demand_(asked: Asked) -> dict[str, Any]:
    """What pending jobs ask for beside the GPUs held and idle, over time; ``known`` says why where nothing is."""
    window, where = asked.window("7d"), asked.filter
    line = timeline.over_time(asked.cur, asked.viewer, window, where)
    found = demand.demand(asked.cur, asked.viewer, window, where, line)
    items, following = _cut(asked, found.rows)
    more = {"known": found.known, "bucket_ms": found.bucket_ms, "window": shown_window(window)}
    return _listed(asked, items, following, **more)


def jobs_(asked: Asked) -> dict[str, Any]:
    """Runs that held GPUs in the window."""
    window, page = asked.window("7d"), asked.page
    found = jobs.jobs(
        asked.cur,
        asked.viewer,
        window,
        asked.filter,
        sort=cast("jobs.Sort", asked.one_of("sort", jobs.SORTS, "idle_gpu_h")),
        descending=asked.one_of("order", ("desc", "asc"), "desc") == "desc",
        limit=page.limit,
        offset=page.offset,
    )
    return _listed(asked, found.items, found.next, total=plain(found.total), window=shown_window(window))


def job_(asked: Asked, text: str) -> dict[str, Any]:
    """One run in full; ``runs`` are all that the id means, newest first, and ``run`` chooses one of them."""
    keys = job.resolve(asked.cur, asked.viewer, text)
    chosen = asked.values.get("run")
    if chosen:
        keys = [key for key in keys if str(key) == chosen] + [key for key in keys if str(key) != chosen]
    found = job.job(asked.cur, asked.viewer, keys[0]) if keys else None
    if found is None or (chosen and str(keys[0]) != chosen):
        raise NotFound(f"No run {text[:60]!r} is known here; ids are such as 123, 123_4, 123+1 or cluster:123.")
    answer: dict[str, Any] = plain(found)
    return answer | {"runs": keys, "loading": pending.pending(asked.cur).sentence}


def findings_(asked: Asked) -> dict[str, Any]:
    """Findings that meet the window, most GPU-hours first; ``past=1`` also those that are over."""
    window, page = asked.window("7d"), asked.page
    found = findings.findings(
        asked.cur,
        asked.viewer,
        window,
        asked.filter,
        limit=page.limit,
        offset=page.offset,
        with_past=asked.one_of("past", ("0", "1"), "0") == "1",
    )
    not_judged = findings.unjudged(asked.cur, asked.viewer, window, asked.filter)
    more = {"total": plain(found.total), "unjudged": plain(not_judged), "window": shown_window(window)}
    return _listed(asked, found.items, found.next, **more)


def finding_(asked: Asked, finding_id: int) -> dict[str, Any]:
    """One finding as it was judged."""
    found = findings.explain(asked.cur, asked.viewer, finding_id) if finding_id < 1 << 31 else None
    if found is None:
        raise NotFound(f"There is no finding {finding_id}; `gpuledger findings` lists them.")
    answer: dict[str, Any] = plain(found)
    return answer


def recommendations_(asked: Asked) -> dict[str, Any]:
    """Recommendations of families that last ran in the window, most GPU-hours a week first."""
    window, page = asked.window("14d"), asked.page
    found = recommendations.recommendations(
        asked.cur, asked.viewer, window, asked.filter, limit=page.limit, offset=page.offset
    )
    return _listed(asked, found.items, found.next, total=plain(found.total), window=shown_window(window))


def nodes_(asked: Asked) -> dict[str, Any]:
    """Nodes and their GPUs now; a filter on runs leaves the nodes where such a run held a GPU in the window."""
    where = asked.filter
    rows = nodes.nodes(asked.cur, asked.viewer, asked.now_ms)
    if where != Filter():
        there = hours.breakdown(asked.cur, asked.viewer, asked.window(f"{_NODE_HOURS}h"), where, "node", count=False)
        names = {row.key for row in there}
        on_cluster_only = where == Filter(cluster=where.cluster)
        rows = [row for row in rows if (row.cluster == where.cluster if on_cluster_only else row.name in names)]
    items, following = _cut(asked, rows)
    return _listed(asked, items, following)


def node_(asked: Asked, name: str) -> dict[str, Any]:
    """One node with each GPU's last 24 hours."""
    found = node.node(asked.cur, asked.viewer, name, asked.now_ms)
    if found is None:
        raise NotFound(f"No node {name[:60]!r} has reported here; /api/v1/nodes lists them.")
    answer: dict[str, Any] = plain(found)
    return answer


def _people(asked: Asked, by: Literal["user", "account"]) -> dict[str, Any]:
    window = asked.window("30d")
    rows = people.people(asked.cur, asked.viewer, window, asked.filter, by)
    items, following = _cut(asked, rows)
    # ``gpu_h`` is what every list calls the hours held.
    named = [{by: row.key, "gpu_h": row.held_gpu_h, **msgspec.to_builtins(row)} for row in items]
    for row in named:
        del row["key"]
    return _listed(asked, named, following, window=shown_window(window))


def users_(asked: Asked) -> dict[str, Any]:
    """People by GPU-hours held."""
    return _people(asked, "user")


def accounts_(asked: Asked) -> dict[str, Any]:
    """Accounts by GPU-hours held."""
    return _people(asked, "account")


def reports_(asked: Asked) -> dict[str, Any]:
    """Reports kept; ``user`` or ``account`` chooses the scope."""
    where, page = asked.filter, asked.page
    scope = f"user:{where.user}" if where.user else f"account:{where.account}" if where.account else None
    found = reports.archive(asked.cur, asked.viewer, scope=scope, limit=page.limit, offset=page.offset)
    return _listed(asked, found.items, found.next, count=found.count)


def notes_(asked: Asked) -> dict[str, Any]:
    """Notes that administrators pinned, the newest moment first."""
    items, following = _cut(asked, pinned.listed(asked.cur))
    return _listed(asked, items, following)


def node_findings_(asked: Asked) -> dict[str, Any]:
    """What administrators should look at on nodes, by kind, most GPU-hours first; of a cluster or node where asked."""
    window, where = asked.window("7d"), asked.filter
    found = [
        each
        for each in node_findings.node_findings(asked.cur, asked.viewer, window)
        if where.cluster in {None, each.cluster} and where.node in {None, each.node}
    ]
    items, following = _cut(asked, found)
    return _listed(asked, items, following, window=shown_window(window))


def health_(asked: Asked) -> dict[str, Any]:
    """Whether the numbers can be trusted, and what to do where not."""
    answer: dict[str, Any] = plain(health.health(asked.cur, asked.viewer, asked.now_ms))
    return answer


def pending_(asked: Asked) -> dict[str, Any]:
    """What has come in and is not in the figures yet; ``sentence`` is null where that changes none by much."""
    answer: dict[str, Any] = plain(pending.pending(asked.cur))
    return answer


Answer = Callable[..., dict[str, Any]]

ANSWERS: Final[Mapping[str, Answer]] = {
    "/summary": summary_,
    "/demand": demand_,
    "/jobs": jobs_,
    "/jobs/<path:text>": job_,
    "/findings": findings_,
    "/findings/<int:finding_id>": finding_,
    "/recommendations": recommendations_,
    "/node-findings": node_findings_,
    "/nodes": nodes_,
    "/nodes/<path:name>": node_,
    "/users": users_,
    "/accounts": accounts_,
    "/reports": reports_,
    "/notes": notes_,
    "/pending": pending_,
    "/health": health_,
}
"""Below /api/v1."""
