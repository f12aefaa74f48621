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


@pytest.fixture
def long(scene: Scene, prints: Any) -> str:
    """A run of thirty hours that worked all the time, with minutes."""
    job: str = scene.run([busy(30 * 60, sm_active_pct=60)], running=True)
    prints.make(scene, rolled_up=True)
    return job


def after(prints: Any, minutes: int, **columns: int | None) -> int:
    """So much more data, whose minutes are as the last one but for these columns; returns how many runs are renewed."""
    changed = "".join(f", {value if value is not None else 'NULL'} AS {name}" for name, value in columns.items())
    with prints.db.cursor() as cur:
        cur.execute(
            f"INSERT INTO gpu_minute BY NAME SELECT * EXCLUDE n REPLACE (minute_ms + 60000 * n AS minute_ms{changed}) "
            "FROM (SELECT * FROM (FROM gpu_minute ORDER BY minute_ms DESC LIMIT 1) CROSS JOIN range(1, $1 + 1) t(n))",
            [minutes],
        )
    later(prints, minutes)
    return int(prints.renew())


def test_a_long_run_that_works_is_read_again_when_it_has_grown_by_a_share(prints: Any, long: str) -> None:
    """All of its rows are read: every hour would be too much."""
    assert after(prints, 71) == 0
    assert after(prints, 2) == 1
    assert prints.run(long)["end_ms"] == T0 + (30 * 60 + 73) * MINUTE


@pytest.mark.parametrize(
    ("columns", "renewed"),
    [
        ({}, 0),
        ({"active_ms": 0, "low_ms": 0}, 1),  # idle
        ({"active_ms": 2_000, "low_ms": 0}, 1),  # blips
        ({"active_ms": 20_000, "low_ms": 0}, 0),
        ({"active_ms": 0, "low_ms": 0, "covered_ms": 0}, 0),  # nothing was read
        ({"util_pct_sum": 1000 * 60_000, "sm_active_pct_sum": 200 * 60_000}, 1),  # looks busy and does little
        ({"util_pct_sum": 1000 * 60_000, "sm_active_pct_sum": 500 * 60_000}, 0),
        (
            {
                "util_pct_sum": 1000 * 60_000,
                "sm_active_pct_sum": None,
                "mem_util_pct_sum": 0,
                "mem_util_pct_ms": 60_000,
            },
            1,
        ),
    ],
)
def test_a_long_run_of_which_there_is_something_to_say_is_read_every_hour(
    prints: Any, long: str, columns: dict[str, int | None], renewed: int
) -> None:
    assert after(prints, 59, **columns) == 0
    assert after(prints, 1, **columns) == renewed


def test_a_long_run_with_an_open_finding_is_read_every_hour(prints: Any, long: str) -> None:
    with prints.db.cursor() as cur:
        cur.execute(
            "INSERT INTO finding BY NAME SELECT 1 AS finding_id, run_key, 'hollow' AS rule, 1 AS rule_version, "
            "$1 AS start_ms, $1 AS end_ms, 1 AS gpu_ms, 'high' AS confidence, 1.0 AS coverage, '' AS title, "
            "'' AS sentence, '' AS fix, '{}' AS numbers, '{}' AS thresholds, $1 AS found_ms FROM run",
            [T0],
        )
    assert after(prints, 60) == 1


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
