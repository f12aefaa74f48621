"""The hours of findings: they lie where the idle time was, and add up to what the findings explain."""

from analytics.footprint import footprints
from analytics.judge import judge
from analytics.settings import AnalyticsSettings
from store.database import Database
from tests.factories.ledger import MINUTE
from tests.factories.scenes import Scene, busy, idle

SETTINGS = AnalyticsSettings()


def hours(db: Database) -> list[tuple[str, list[int]]]:
    """(rule, minutes of idle GPU time in each of the hours that have any)."""
    footprints(db, 0, SETTINGS.footprint)
    with db.cursor() as cur:
        judge(db, cur.scalar("SELECT max(last_ms) FROM node"), SETTINGS)
        assert (
            cur.tuples(
                "SELECT f.rule FROM finding f WHERE f.gpu_ms <> coalesce((SELECT sum(gpu_ms) FROM finding_hour h "
                "WHERE h.run_key = f.run_key AND h.rule = f.rule), 0)"
            )
            == []
        )
        return cur.tuples(
            f"SELECT rule, list(gpu_ms // {MINUTE} ORDER BY hour_ms) FROM finding_hour GROUP BY rule ORDER BY rule"
        )


def test_each_hour_gets_its_own_idle_time(db: Database, scene: Scene) -> None:
    scene.run([idle(90), busy(90), idle(100)])
    scene.play(db)
    found = dict(hours(db))
    assert sum(found["idle_head"]) == 90
    assert sum(found["idle_tail"]) == 100
    assert max(*found["idle_head"], *found["idle_tail"]) <= 60
    with db.cursor() as cur:
        assert (
            cur.tuples(
                "SELECT hour_ms FROM (SELECT hour_ms, sum(gpu_ms) AS found FROM finding_hour GROUP BY 1) JOIN "
                "(SELECT hour_ms, sum(idle_ms + idle_held_ms) AS idle FROM gpu_hour GROUP BY 1) USING (hour_ms) "
                "WHERE found <> idle"
            )
            == []
        )


def test_judged_again_nothing_counts_twice(db: Database, scene: Scene) -> None:
    scene.run([busy(90), idle(100)])
    scene.play(db)
    first = hours(db)
    with db.cursor() as cur:
        cur.execute("UPDATE footprint_run SET judged = FALSE")
    assert hours(db) == first


def test_without_a_rollup_hours_are_shared_by_time(db: Database, scene: Scene) -> None:
    scene.run([idle(120)])
    scene.play(db, rolled_up=False)
    assert sum(hours(db)[0][1]) == 120
