"""Keeps the report of each complete week as it was made; later data makes another revision, never a silent change."""

from typing import Final

import msgspec

from analytics.model import HOUR_MS, Viewer
from analytics.queries.pending import pending
from analytics.queries.site import site
from analytics.reports.build import build
from analytics.reports.model import Report, Scope
from analytics.reports.render import render_html, render_text
from analytics.reports.weeks import last_closed_week
from analytics.schedule import Job
from analytics.site import SiteSettings
from store.database import Cursor, Database

_ADMIN: Final = Viewer()
_CLUSTER: Final = Scope("cluster")

_UNSUMMED: Final = "SELECT count(*) FROM dirty_hour WHERE hour_ms >= $1 AND hour_ms < $2"
_CHECKED: Final = """
    SELECT coalesce((SELECT max(at_ms) FROM job_log WHERE job = $job AND ok AND at_ms < $now), 0)
    FROM report WHERE scope = $scope AND week = $week LIMIT 1"""

NAME: Final = "weekly report"


def weekly_job(settings: SiteSettings, every_s: float) -> Job:
    """Returns the job that keeps the cluster's report of the last complete week, and its revisions."""
    return Job(name=NAME, every_s=every_s, work=lambda db, now_ms: keep_last_week(db, settings, now_ms))


def keep_last_week(db: Database, settings: SiteSettings, now_ms: int) -> int:
    """Keeps the last closed week's report of the cluster once its data is summed and judged.

    A week that is kept is looked at once an hour, for a revision. Returns 1 where a report was added, else 0.
    """
    with db.cursor() as cur:
        store = site(cur)
        if store.data_from_ms is None or store.data_to_ms is None:
            return 0
        window = last_closed_week(store.data_from_ms, store.data_to_ms, settings.zone)
        if window is None or pending(cur).sentence or cur.scalar(_UNSUMMED, [window.start_ms, window.end_ms]):
            return 0
        if not _is_due(cur, window.label, now_ms):
            return 0
        return keep(cur, build(cur, _ADMIN, _CLUSTER, window.label, settings, now_ms))


def _is_due(cur: Cursor, week: str, now_ms: int) -> bool:
    """Whether the week has no report, or the last look at it was in another hour."""
    looked = cur.tuples(_CHECKED, {"job": NAME, "now": now_ms, "scope": str(_CLUSTER), "week": week})
    return not looked or looked[0][0] // HOUR_MS != now_ms // HOUR_MS


def keep(cur: Cursor, report: Report) -> int:
    """Adds a report to the archive unless its newest revision says the same; returns the number of rows added."""
    figures = msgspec.json.encode(report.figures["hours"]).decode()
    key = {"scope": str(report.scope), "week": report.week}
    with cur.transaction():
        found = cur.tuples(
            "SELECT revision, figures FROM report WHERE scope = $scope AND week = $week ORDER BY revision DESC LIMIT 1",
            key,
        )
        if found and _same(found[0][1], figures):
            return 0
        cur.execute(
            "INSERT INTO report BY NAME SELECT $scope AS scope, $week AS week, $revision AS revision, "
            "$made AS made_ms, $data_to AS data_to_ms, $html AS html, $text AS text, $figures AS figures",
            key
            | {
                "revision": found[0][0] + 1 if found else 1,
                "made": report.made_ms,
                "data_to": report.data_to_ms,
                "html": render_html(report),
                "text": render_text(report),
                "figures": figures,
            },
        )
    return 1


def _same(kept: str, now: str) -> bool:
    """Whether two sets of figures are equal; how far the store's data reaches says nothing of the week."""
    old, new = msgspec.json.decode(kept), msgspec.json.decode(now)
    old.pop("provenance", None)
    new.pop("provenance", None)
    return bool(old == new)
