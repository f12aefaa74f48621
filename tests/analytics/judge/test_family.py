"""Advice that rests on runs of the same family: those that ended before, whatever comes later."""

from analytics.footprint import footprints
from analytics.judge import judge
from analytics.settings import AnalyticsSettings
from store.database import Database
from tests.factories.ledger import DAY, T0
from tests.factories.scenes import Scene, busy

SETTINGS = AnalyticsSettings()


def advised(db: Database, scene: Scene) -> list[str]:
    scene.play(db, rolled_up=False)
    footprints(db, 0, SETTINGS.footprint)
    judge(db, T0 + 30 * DAY, SETTINGS)
    with db.cursor() as cur:
        rows = cur.tuples(
            "SELECT job_id_raw FROM finding JOIN run USING (run_key) WHERE rule = 'walltime_oversized' ORDER BY 1"
        )
    return [job for (job,) in rows]


def test_a_limit_is_called_long_from_the_fifth_run_on(db: Database, scene: Scene) -> None:
    jobs = [scene.run([busy(60)], start_ms=T0 + day * DAY) for day in range(6)]
    assert advised(db, scene) == jobs[4:]


def test_one_that_reached_it_ends_that_for_all_after_it(db: Database, scene: Scene) -> None:
    jobs = [scene.run([busy(60)], start_ms=T0 + day * DAY) for day in range(5)]
    scene.run([busy(60)], start_ms=T0 + 5 * DAY, state="TIMEOUT", timelimit_s=3600)
    scene.run([busy(60)], start_ms=T0 + 6 * DAY)
    assert advised(db, scene) == jobs[4:]


def test_somebody_elses_runs_say_nothing(db: Database, scene: Scene) -> None:
    for day in range(4):
        scene.run([busy(60)], start_ms=T0 + day * DAY)
        scene.run([busy(60)], start_ms=T0 + day * DAY, user="bob")
    assert advised(db, scene) == []
