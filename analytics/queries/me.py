"""A person's own page: what runs, what to change, and how the last 30 days went."""

from typing import Final

import msgspec

from analytics.model import HOUR_MS, Filter, Viewer, Window
from analytics.queries.comparison import active_share_pct
from analytics.queries.finding_groups import FindingGroup, grouped
from analytics.queries.findings import IdleNow, idle_now
from analytics.queries.hours import Hours, hours
from analytics.queries.jobs import JobRow, jobs
from analytics.queries.pending import unjudged_runs
from analytics.queries.recommendations import RecommendationRow, recommendations
from analytics.queries.rollup import floor
from analytics.queries.site import site
from analytics.queries.timeline import Timeline, over_time
from analytics.wording import format_duration, format_gpu_h, format_pct, plural
from store.database import Cursor

DAYS: Final = 30
CHANGE_DAYS: Final = 14
MAX_CHANGES: Final = 3
MAX_RUNNING: Final = 50
RECENT: Final = 10


class MyRun(msgspec.Struct, frozen=True, kw_only=True):
    """A running run in one sentence; ``left_ms`` is None without a time limit."""

    job: JobRow
    sentence: str
    left_ms: int | None


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """At most three things to change, recommendations first; ``sentence`` says it in one line.

    ``mended`` are the findings that a recommendation above them answers.
    """

    user: str
    sentence: str
    running: list[MyRun]
    recommendations: list[RecommendationRow]
    findings: list[FindingGroup]
    mended: list[FindingGroup]
    hours: Hours
    timeline: Timeline
    recent: list[JobRow]


_LEFT: Final = """
    SELECT run_key, timelimit_ms - ($now - start_ms - coalesce(suspended_ms, 0)) FROM run
    WHERE list_contains($keys, run_key) AND timelimit_ms IS NOT NULL"""


def me(cur: Cursor, viewer: Viewer, now_ms: int, user: str, zone: str = "UTC") -> Me:
    """Returns the page of ``user`` as of ``now_ms``, the moment the data reaches to; empty where they ran nothing."""
    month = Window.last(DAYS * 24, now_ms, zone)
    fortnight = Window.last(CHANGE_DAYS * 24, now_ms, zone)
    mine = Filter(user=user)
    run_now = msgspec.structs.replace(mine, state="running")
    running = jobs(cur, viewer, month, run_now, sort="start", limit=MAX_RUNNING).items
    recent = jobs(cur, viewer, month, mine, sort="start", limit=RECENT).items
    change = recommendations(cur, viewer, fortnight, mine, limit=MAX_CHANGES).items
    found = grouped(cur, viewer, fortnight, mine)
    # What a recommendation would mend is one thing to change with it, not another.
    seen = [group for group in found if not group.is_of({row.family for row in change})]
    total = hours(cur, viewer, month, mine)
    return Me(
        user=user,
        sentence=_sentence(total, change, seen, unjudged_runs(cur, viewer, user, fortnight.start_ms, fortnight.end_ms)),
        running=_running(cur, viewer, running, mine, now_ms),
        recommendations=change,
        findings=seen[: MAX_CHANGES - len(change)],
        mended=[group for group in found if group not in seen],
        hours=total,
        timeline=over_time(cur, viewer, _recorded(cur, month), mine, max_points=DAYS + 1),
        recent=recent,
    )


def _recorded(cur: Cursor, month: Window) -> Window:
    """The part of the month of which there is data, on full hours: minutes of data are not drawn as one wide day."""
    began = site(cur).data_from_ms
    if began is None or began <= month.start_ms:
        return month
    return msgspec.structs.replace(month, start_ms=max(month.start_ms, floor(began, HOUR_MS)))


def _running(cur: Cursor, viewer: Viewer, running: list[JobRow], mine: Filter, now_ms: int) -> list[MyRun]:
    if not running:
        return []
    idle = {row.run_key: row for row in idle_now(cur, viewer, mine, limit=MAX_RUNNING)}
    left = dict(cur.tuples(_LEFT, {"now": now_ms, "keys": [row.run_key for row in running]}))
    return [
        MyRun(job=row, sentence=_of_run(row, idle.get(row.run_key)), left_ms=left.get(row.run_key)) for row in running
    ]


def _of_run(row: JobRow, idle: IdleNow | None) -> str:
    gpus = "Its GPU has" if row.gpus == 1 else f"Its {row.gpus} GPUs have"
    if idle is not None:
        return f"{gpus} been idle for {format_duration(idle.idle_ms)}."
    if row.util_mean_pct is None:
        return "Nothing was measured yet."
    if row.findings:
        return f"{row.findings[0].title}. Utilization so far {format_pct(row.util_mean_pct)}."
    return f"Utilization so far {format_pct(row.util_mean_pct)}."


def _sentence(total: Hours, change: list[RecommendationRow], seen: list[FindingGroup], waiting: int) -> str:
    if total.held_gpu_h == 0:
        return f"You held no GPU in the last {DAYS} days."
    freed = sum(row.gpu_h_week for row in change)
    if change and freed > 0:
        return f"{plural(len(change), 'change')} would free {format_gpu_h(freed)} a week on average."
    if seen:
        return f"Something to look at: {seen[0].first.title}, {format_gpu_h(seen[0].gpu_h)}."
    busy = active_share_pct(total)
    active = f" Your GPUs were active {format_pct(busy)} of the measured time." if busy is not None else ""
    if waiting:
        verb = "is" if waiting == 1 else "are"
        return f"Not judged yet: {plural(waiting, 'run')} of yours {verb} still to be looked at.{active}"
    return f"Nothing to change.{active}"
