"""Suspended time is not held: neither idle nor busy, and no gap of the readings that are left."""

from typing import Any

from store.database import Database
from tests.factories.ledger import MINUTE, T0
from tests.factories.scenes import Scene, busy, idle


def suspend(db: Database, job: str, start_min: float, end_min: float | None) -> None:
    end_ms = None if end_min is None else T0 + round(end_min * MINUTE)
    with db.cursor() as cur:
        cur.execute(
            "INSERT INTO suspension SELECT run_key, $4, NULL, NULL, $1, $2 FROM run WHERE job_id_raw = $3",
            [T0 + round(start_min * MINUTE), end_ms, job, round(start_min)],
        )


def test_suspended_time_is_neither_held_nor_idle(scene: Scene, prints: Any, db: Database) -> None:
    job = scene.run([busy(20), idle(40), busy(20)])
    scene.play(db)
    suspend(db, job, 20.25, 59.75)
    prints.renew()
    found = prints.gpu(job)
    assert (found["held_ms"], found["covered_ms"], found["unknown_ms"]) == (round(40.5 * MINUTE),) * 2 + (0,)
    assert (found["idle_ms"] + found["idle_held_ms"], found["active_ms"]) == (MINUTE // 2, 40 * MINUTE)
    assert found["longest_idle_ms"] == MINUTE // 4
    assert found["idle_stretches"] == 0
    assert prints.run(job)["coverage"] == 1


def test_a_short_pause_ends_an_idle_stretch_as_a_long_one_does(scene: Scene, prints: Any, db: Database) -> None:
    job = scene.run([busy(20), idle(5)])
    scene.play(db)
    suspend(db, job, 20.5, 21)
    suspend(db, job, 24, 24.75)
    prints.renew()
    found = prints.gpu(job)
    assert (found["trailing_idle_ms"], found["longest_idle_ms"]) == (MINUTE // 4, 3 * MINUTE)
    assert found["held_ms"] == round(23.75 * MINUTE)


def test_who_ends_while_suspended_has_no_idle_end(scene: Scene, prints: Any, db: Database) -> None:
    job = scene.run([busy(20), idle(40)])
    scene.play(db)
    suspend(db, job, 20, None)
    prints.renew()
    assert (prints.gpu(job)["held_ms"], prints.gpu(job)["trailing_idle_ms"]) == (20 * MINUTE, 0)
