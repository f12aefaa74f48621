"""Reports are kept as made; later data makes a revision; the same data makes none."""

import pytest

from analytics.reports.archive import keep_last_week, weekly_job
from analytics.schedule import JobRunner
from analytics.site import SiteSettings
from store import sums
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, T0

SITE = SiteSettings()
NOW = T0 + 7 * DAY + 10 * HOUR


def kept(cur: Cursor) -> list[tuple[object, ...]]:
    return cur.tuples("SELECT scope, week, revision FROM report ORDER BY revision")


def turned_out_active(cur: Cursor) -> None:
    """Later data: what seemed idle in the first hour was not."""
    with cur.transaction():
        cur.execute("UPDATE gpu_hour SET idle_ms = 0, active_ms = held_ms WHERE idle_ms > 0 AND hour_ms = $1", [T0])
        sums.make(cur, "UTC", T0, T0 + HOUR)


def test_a_complete_week_is_kept_once(weeks: Cursor) -> None:
    assert keep_last_week(weeks.database, SITE, NOW) == 1
    assert keep_last_week(weeks.database, SITE, NOW + HOUR) == 0
    assert kept(weeks) == [("cluster", "2026-W48", 1)]


def test_later_data_makes_a_revision(weeks: Cursor) -> None:
    keep_last_week(weeks.database, SITE, NOW)
    turned_out_active(weeks)
    assert keep_last_week(weeks.database, SITE, NOW + HOUR) == 1
    assert kept(weeks) == [("cluster", "2026-W48", 1), ("cluster", "2026-W48", 2)]


@pytest.mark.parametrize("hours", [-1, 0, 7])
def test_a_week_is_not_closed_before_monday_morning(weeks: Cursor, hours: int) -> None:
    weeks.execute("UPDATE node SET last_ms = $1", [T0 + 7 * DAY + hours * HOUR])
    keep_last_week(weeks.database, SITE, NOW)
    assert ("cluster", "2026-W48", 1) not in kept(weeks)


def test_a_week_that_was_not_recorded_from_its_monday_has_no_report(weeks: Cursor) -> None:
    weeks.execute("UPDATE node SET first_ms = $1", [T0 + HOUR])
    assert keep_last_week(weeks.database, SITE, NOW) == 0


def test_what_is_not_summed_yet_is_waited_for(weeks: Cursor) -> None:
    weeks.execute("INSERT INTO dirty_hour VALUES ($1, 1, 1, $1, $1)", [T0 + 5 * HOUR])
    assert keep_last_week(weeks.database, SITE, NOW) == 0
    weeks.execute("DELETE FROM dirty_hour")
    assert keep_last_week(weeks.database, SITE, NOW) == 1


def test_a_kept_week_is_looked_at_once_an_hour(weeks: Cursor) -> None:
    job = weekly_job(SITE, 300.0)
    clock = iter((NOW, NOW + 300_000, NOW + HOUR, NOW + HOUR + 300_000))
    runner = JobRunner(weeks.database, lambda: next(clock), 14)
    assert runner.run(job).rows == 1
    turned_out_active(weeks)
    assert [runner.run(job).rows for _ in range(3)] == [0, 1, 0]


def test_an_empty_store_keeps_nothing(cur: Cursor) -> None:
    assert keep_last_week(cur.database, SITE, NOW) == 0
