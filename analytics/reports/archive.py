"""Keeps the report of each complete week as it was made; later data makes another revision, never a silent change."""

from typing import Final

import msgspec

from analytics.model import Viewer, Window
from analytics.queries.site import site
from analytics.reports.build import build
from analytics.reports.model import Report, Scope
from analytics.reports.render import render_html, render_text
from analytics.reports.weeks import last_complete_week
from analytics.schedule import Job
from analytics.site import SiteSettings
from store.database import Cursor, Database

EVERY_S: Final = 3600.0
CLOSED_AFTER_MS: Final = 8 * 3_600_000  # accounting of the week's last jobs has come in by Monday 08:00
_ADMIN: Final = Viewer()


def weekly_job(settings: SiteSettings) -> Job:
    """Returns the job that keeps the cluster's report of the last complete week, and its revisions."""
    return Job(name="weekly report", every_s=EVERY_S, work=lambda db, now_ms: keep_last_week(db, settings, now_ms))


def keep_last_week(db: Database, settings: SiteSettings, now_ms: int) -> int:
    """Keeps the last complete week's report of the cluster; returns 1 where one was added, else 0."""
    with db.cursor() as cur:
        store = site(cur)
        if store.data_from_ms is None or store.data_to_ms is None:
            return 0
        week = last_complete_week(store.data_to_ms, settings.zone)
        window = Window.week(week, settings.zone)
        closed = store.data_to_ms >= window.end_ms + CLOSED_AFTER_MS
        if not closed or store.data_from_ms >= window.end_ms:
            return 0
        return keep(cur, build(cur, _ADMIN, Scope("cluster"), week, settings, now_ms))


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
