"""Jobs run in order, each run is recorded, and a surprise ends a run, not the schedule."""

import threading
import time
from typing import Any

import pytest

from analytics.schedule import Job, JobRunner, Schedule, analysis_now_ms
from analytics.settings import AnalyticsSettings, ScheduleSettings
from analytics.site import SiteSettings
from store.database import Database
from store.errors import StoreError
from tests.factories.ledger import DAY, MINUTE, T0
from tests.factories.scenes import Scene, busy, idle


def log_of(db: Database) -> list[tuple[Any, ...]]:
    with db.cursor() as cur:
        return cur.tuples("SELECT job, ok, rows, error FROM job_log ORDER BY at_ms, duration_ms")


def test_a_run_is_recorded(db: Database) -> None:
    record = JobRunner(db, lambda: T0, 14).run(Job(name="count", every_s=1, work=lambda _db, now_ms: now_ms - T0 + 3))
    assert (record.ok, record.rows, record.error, record.at_ms) == (True, 3, "", T0)
    assert log_of(db) == [("count", True, 3, "")]


def test_a_surprise_is_recorded_and_goes_no_further(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    def surprise(_db: Database, _now_ms: int) -> int:
        raise ZeroDivisionError("what now")

    record = JobRunner(db, lambda: T0, 14).run(Job(name="odd", every_s=1, work=surprise))
    assert not record.ok
    assert log_of(db) == [("odd", False, 0, "ZeroDivisionError: what now")]
    assert "job=odd failed" in caplog.text


def test_an_expected_error_is_one_sentence(db: Database) -> None:
    def expected(_db: Database, _now_ms: int) -> int:
        raise StoreError("No room; free some.")

    JobRunner(db, lambda: T0, 14).run(Job(name="full", every_s=1, work=expected))
    assert log_of(db) == [("full", False, 0, "No room; free some.")]


def test_old_records_go(db: Database) -> None:
    job = Job(name="x", every_s=1, work=lambda _db, _now_ms: 0)
    JobRunner(db, lambda: T0, 14).run(job)
    JobRunner(db, lambda: T0 + 15 * DAY, 14).run(job)
    assert len(log_of(db)) == 1


def test_all_once_makes_findings_and_recommendations(db: Database) -> None:
    scene = Scene(interval_s=60)
    for day in range(5):
        scene.run([busy(60)], [idle(60)], start_ms=T0 + day * DAY)
    scene.play(db)
    schedule = Schedule(db, AnalyticsSettings(), SiteSettings(), lambda: T0 + 5 * DAY)
    assert [(run.job, run.ok) for run in schedule.run_all()] == [
        ("roll up", True),
        ("footprints", True),
        ("judge", True),
        ("right-size", True),
    ]
    with db.cursor() as cur:
        assert cur.scalar("SELECT count(*) FROM finding WHERE rule = 'gpus_unused'") == 5
        assert cur.scalar("SELECT count(*) FROM recommendation WHERE missing IS NULL AND kind = 'gpus'") == 1


def test_runs_in_the_background_until_stopped(db: Database) -> None:
    ran = threading.Semaphore(0)

    def work(_db: Database, _now_ms: int) -> int:
        ran.release()
        return 0

    settings = AnalyticsSettings(schedule=ScheduleSettings(roll_up_s=3600, footprints_s=3600))
    schedule = Schedule(db, settings, SiteSettings(), lambda: T0, more=[Job(name="report", every_s=0.05, work=work)])
    schedule.start()
    try:
        assert all(ran.acquire(timeout=20) for _ in range(3))
    finally:
        schedule.stop()
    names = [row[0] for row in log_of(db)]
    assert {"roll up", "footprints", "judge", "right-size", "report"} <= set(names)
    count = len(names)
    time.sleep(0.2)
    assert len(log_of(db)) == count


def test_stopping_what_never_started_is_nothing(db: Database) -> None:
    Schedule(db, AnalyticsSettings(), SiteSettings(), lambda: T0).stop()


def test_now_is_the_clock_but_for_a_synthetic_store(db: Database, tmp_path: Any) -> None:
    assert analysis_now_ms(db, T0) == T0
    with Database.open(tmp_path / "demo", synthetic=True) as synthetic:
        assert analysis_now_ms(synthetic, T0) == T0
        with synthetic.cursor() as cur:
            cur.execute(
                "INSERT INTO node BY NAME SELECT 1 AS node_key, 'n' AS name, 'c' AS cluster, TRUE AS slurm, "
                "10000 AS interval_ms, 0 AS first_ms, $1 AS last_ms, 0 AS received_ms",
                [T0 - MINUTE],
            )
        assert analysis_now_ms(synthetic, T0) == T0 - MINUTE
