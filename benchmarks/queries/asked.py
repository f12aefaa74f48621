"""What pages ask of the store: every query, over the window with which its page opens and over the longest offered."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from analytics.model import Filter, Viewer, Window
from analytics.queries import (
    choices,
    demand,
    findings,
    first_run,
    health,
    hours,
    job,
    jobs,
    lanes,
    me,
    node,
    node_days,
    node_findings,
    nodes,
    pending,
    people,
    recommendations,
    reports,
    search,
    series,
    shapes,
    site,
    summary,
    timeline,
)
from store.database import Cursor

Query = Callable[[Cursor], object]

ADMIN: Final = Viewer()
ALL: Final = Filter()
METRICS: Final = ("util_pct", "sm_active_pct", "mem_used_mib", "power_w", "temp_c")
BARS: Final = 120
LONGEST_DAYS: Final = 90
_DAY_MS: Final = 86_400_000
_FIRST_NODE: Final = "SELECT min(name) FROM node WHERE node_key <> 0"
# Somebody in the middle: the busiest of 300 people submits a twentieth of all runs.
_SOMEBODY: Final = """
    SELECT user_name FROM run WHERE user_name IS NOT NULL AND start_ms > $1
    GROUP BY user_name ORDER BY count(*) DESC, user_name OFFSET $2 LIMIT 1"""
_PEOPLE: Final = "SELECT count(DISTINCT user_name) FROM run WHERE start_ms > $1"


class Known(NamedTuple):
    """Whom and what the queries are asked of: a person, a node, runs of 8 GPUs with raw rows, and the data's end."""

    to_ms: int
    user: str
    node: str
    hot_run: int
    sealed_run: int

    def last(self, days: int) -> Window:
        """Returns the last days of the data."""
        return Window.last(24 * days, self.to_ms)


def known(cur: Cursor, hot_run: int, sealed_run: int) -> Known:
    """Returns what to ask of, as of the end of the data."""
    to_ms = site.data_to(cur) or 0
    month = to_ms - 30 * _DAY_MS
    user = cur.scalar(_SOMEBODY, [month, cur.scalar(_PEOPLE, [month]) // 3])
    return Known(to_ms, user, cur.scalar(_FIRST_NODE), hot_run, sealed_run)


def queries(of: Known) -> Mapping[str, Query]:
    """Returns every query that a page asks, over the window with which the page opens."""
    return _fixed(of) | {
        name: lambda cur, query=query, days=days: query(cur, of.last(days))
        for name, (days, query) in _periods().items()
    }


def longest(of: Known) -> Mapping[str, Query]:
    """Returns those that a period can be chosen for, over the longest that pages offer."""
    return {
        f"{name}_{LONGEST_DAYS}d": lambda cur, query=query: query(cur, of.last(LONGEST_DAYS))
        for name, (_, query) in _periods().items()
    }


def _fixed(of: Known) -> dict[str, Query]:
    return {
        "idle_now": lambda cur: findings.idle_now(cur, ADMIN, ALL),
        "first_run": lambda cur: first_run.progress(cur, ADMIN, of.to_ms),
        "pending": pending.pending,
        "site": site.site,
        "me": lambda cur: me.me(cur, ADMIN, of.to_ms, of.user),
        "job": lambda cur: job.job(cur, ADMIN, of.hot_run),
        "lanes": lambda cur: lanes.lanes(cur, ADMIN, of.hot_run),
        "series": lambda cur: series.metrics(cur, ADMIN, of.hot_run, METRICS),
        "series_sealed": lambda cur: series.metrics(cur, ADMIN, of.sealed_run, METRICS),
        "nodes": lambda cur: nodes.nodes(cur, ADMIN, of.to_ms),
        "node": lambda cur: node.node(cur, ADMIN, of.node, of.to_ms),
        "reports": lambda cur: reports.archive(cur, ADMIN),
        "health": lambda cur: health.health(cur, ADMIN, of.to_ms),
        "search": lambda cur: search.meant(cur, ADMIN, of.user),
    }


def _periods() -> dict[str, tuple[int, Callable[[Cursor, Window], object]]]:
    """By name: the days with which the page opens, and the query."""
    return {
        "summary": (7, lambda cur, window: summary.summary(cur, ADMIN, window, ALL, count=False)),
        "timeline": (7, lambda cur, window: timeline.over_time(cur, ADMIN, window, ALL, BARS)),
        "demand": (7, _demand),
        "by_partition": (7, lambda cur, window: hours.breakdown(cur, ADMIN, window, ALL, "partition", count=False)),
        "by_node": (1, lambda cur, window: hours.breakdown(cur, ADMIN, window, ALL, "node", count=False)),
        "hours": (1, lambda cur, window: hours.hours(cur, ADMIN, window, ALL, count=False)),
        "node_days": (1, _node_days),
        "choices": (7, lambda cur, window: choices.choices(cur, ADMIN, window)),
        "jobs": (7, lambda cur, window: jobs.jobs(cur, ADMIN, window, ALL)),
        "histogram": (7, lambda cur, window: shapes.histogram(cur, ADMIN, window, ALL)),
        "hexmap": (7, lambda cur, window: shapes.hexmap(cur, ADMIN, window, ALL)),
        "people": (30, lambda cur, window: people.people(cur, ADMIN, window, ALL)),
        "findings": (14, lambda cur, window: findings.findings(cur, ADMIN, window, ALL)),
        "unjudged": (14, lambda cur, window: findings.unjudged(cur, ADMIN, window, ALL)),
        "recommendations": (14, lambda cur, window: recommendations.recommendations(cur, ADMIN, window, ALL)),
        "node_findings": (1, lambda cur, window: node_findings.node_findings(cur, ADMIN, window)),
    }


def _demand(cur: Cursor, window: Window) -> object:
    return demand.demand(cur, ADMIN, window, ALL, timeline.over_time(cur, ADMIN, window, ALL, BARS))


def _node_days(cur: Cursor, window: Window) -> object:
    names = [row.name for row in nodes.known(cur)]
    return node_days.node_days(cur, window, {"all": names}, dict.fromkeys(names, 8))
