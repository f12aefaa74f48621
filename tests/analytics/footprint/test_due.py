"""Which runs get a footprint, and when again."""

from typing import Any

import msgspec
import pytest

from analytics.settings import FootprintSettings
from store.ingest import ingest
from store.segment import encode
from tests.factories.ledger import MINUTE, T0
from tests.factories.scenes import Scene, busy, gap, idle


def dirty(prints: Any) -> int:
    with prints.db.cursor() as cur:
        found: int = cur.scalar("SELECT count(*) FROM dirty_run")
    return found


def later(prints: Any, minutes: float) -> None:
    """Data of the same runs goes on for a while."""
    with prints.db.cursor() as cur:
        cur.execute("UPDATE node SET last_ms = last_ms + $1", [round(minutes * MINUTE)])
        cur.execute("INSERT OR REPLACE INTO dirty_run (run_key, gen) SELECT run_key, 7 FROM run")


def receive(prints: Any, scene: Scene) -> None:
    """A further segment of the node, of the same hold or of another, after everything else."""
    for segment in scene.segments:
        held = tuple(
            msgspec.structs.replace(hold, start_ms=T0) if hold.end_ms is None else hold for hold in segment.holdings
        )
        further = msgspec.structs.replace(segment, seq=7, holdings=held)
        ingest(prints.db, [(further.name, encode(further))], T0 + 24 * 60 * MINUTE)


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


@pytest.mark.parametrize("late", [3, 18])
def test_a_lasting_run_is_renewed_when_an_hour_of_it_comes_late(scene: Scene, prints: Any, late: int) -> None:
    """A store that is being filled, or a node that was away: its end stands still, and what lies before fills."""
    job = scene.run([gap(late * 60), idle((20 - late) * 60)], running=True)
    prints.make(scene)
    assert prints.run(job)["coverage"] == pytest.approx(1 - late / 20)
    more = Scene()
    more.run([idle(late * 60)], running=True, accounting=False)
    receive(prints, more)
    assert prints.renew() == 1
    assert prints.run(job)["coverage"] == 1
    assert prints.run(job)["end_ms"] == T0 + 20 * 60 * MINUTE


def test_a_lasting_run_is_not_renewed_for_a_late_minute(scene: Scene, prints: Any) -> None:
    scene.run([gap(20 * 60 - 30), idle(1), gap(9), idle(20)], running=True)
    prints.make(scene)
    more = Scene()
    more.run([idle(5)], start_ms=T0 + (20 * 60 - 28) * MINUTE, running=True, accounting=False)
    receive(prints, more)
    assert prints.renew() == 0
    assert dirty(prints) == 1


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


def test_a_run_cut_by_a_hold_told_later_is_renewed(scene: Scene, prints: Any) -> None:
    """Its own rows say nothing new, and it is in no segment of the batch."""
    lost = scene.run([busy(60)], running=True, accounting=False)
    prints.make(scene)
    more = Scene()
    more.run([busy(15)], start_ms=T0 + 45 * MINUTE, accounting=False, job_id_raw="999")
    receive(prints, more)
    assert prints.renew() == 2
    assert prints.gpu(lost)["held_ms"] == 45 * MINUTE
