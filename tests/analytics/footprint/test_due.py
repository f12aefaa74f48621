"""Which runs get a footprint, and when again."""

from typing import Any

import pytest

from analytics.settings import FootprintSettings
from tests.factories.ledger import MINUTE, T0
from tests.factories.scenes import Scene, busy, idle


def dirty(prints: Any) -> int:
    with prints.db.cursor() as cur:
        found: int = cur.scalar("SELECT count(*) FROM dirty_run")
    return found


def later(prints: Any, minutes: float) -> None:
    """Data of the same runs goes on for a while."""
    with prints.db.cursor() as cur:
        cur.execute("UPDATE node SET last_ms = last_ms + $1", [round(minutes * MINUTE)])
        cur.execute("INSERT OR REPLACE INTO dirty_run SELECT run_key, 7 FROM run")


def test_an_empty_store_has_nothing_to_do(prints: Any) -> None:
    assert prints.renew() == 0


def test_a_finished_run_is_done_once(scene: Scene, prints: Any) -> None:
    scene.run([busy(60)])
    assert prints.make(scene) == 1
    assert dirty(prints) == 0
    scene.run([busy(60)])
    assert prints.make(scene) == 1


@pytest.mark.parametrize(("length", "growth"), [(5, 1), (60, 6), (20 * 60, 60)])
def test_a_lasting_run_is_renewed_when_it_has_grown(scene: Scene, prints: Any, length: float, growth: float) -> None:
    """By a tenth, at least a minute and at most an hour."""
    job = scene.run([busy(length)], running=True)
    assert prints.make(scene) == 1
    later(prints, growth - 0.5)
    assert prints.renew() == 0
    assert dirty(prints) == 1
    later(prints, 0.5)
    assert prints.renew() == 1
    assert prints.run(job)["end_ms"] == T0 + (length + growth) * MINUTE


def test_many_runs_are_worked_through_in_groups(scene: Scene, prints: Any) -> None:
    jobs = [scene.run([busy(30), idle(30)]) for _ in range(7)]
    assert prints.make(scene, FootprintSettings(rows_at_once=300)) == 7
    assert all(prints.run(job)["coverage"] == 1 for job in jobs)
    assert dirty(prints) == 0


def test_an_allocation_ends_where_the_next_on_its_gpu_begins(scene: Scene, prints: Any) -> None:
    """A node died and nobody saw its run end: it does not hold what another one holds."""
    lost = scene.run([busy(60)], running=True, accounting=False)
    prints.make(scene)
    with prints.db.cursor() as cur:
        cur.execute("INSERT INTO run BY NAME SELECT * REPLACE (9 AS run_key, '999' AS job_id_raw) FROM run")
        cur.execute(
            "INSERT INTO allocation BY NAME SELECT * REPLACE (9 AS run_key, start_ms + $1 AS start_ms) FROM allocation",
            [45 * MINUTE],
        )
    later(prints, 120)
    assert prints.renew() == 2
    assert prints.gpu(lost)["held_ms"] == 45 * MINUTE
