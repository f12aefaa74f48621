"""Findings over the life of a run: they open, stay, close, and give their hours away when the run is over."""

from functools import partial
from typing import Any

import msgspec
import pytest

from analytics.footprint import footprints
from analytics.judge import judge
from analytics.settings import AnalyticsSettings
from store.database import Database
from store.segment import Event, NullReason
from tests.factories.ledger import HOUR, MINUTE, T0
from tests.factories.scenes import Phase, Scene, blind, busy, gap, idle

SETTINGS = AnalyticsSettings()


class Bench:
    """A store with its analysis."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def analyse(self, now_ms: int | None = None) -> int:
        with self.db.cursor() as cur:
            data_to_ms: int = cur.scalar("SELECT max(last_ms) FROM node")
        footprints(self.db, 0, SETTINGS.footprint)
        return judge(self.db, now_ms or data_to_ms, SETTINGS)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        with self.db.cursor() as cur:
            found: list[dict[str, Any]] = cur.arrow(sql).to_pylist()
        return found

    def findings(self) -> list[tuple[str, bool, int]]:
        """(rule, open, GPU-minutes) of every finding."""
        rows = self.rows("SELECT * FROM finding ORDER BY rule")
        return [(row["rule"], row["closed_ms"] is None, row["gpu_ms"] // MINUTE) for row in rows]


@pytest.fixture
def bench(db: Database) -> Bench:
    return Bench(db)


def test_time_in_which_a_run_was_suspended_does_not_make_it_long_enough(bench: Bench, scene: Scene) -> None:
    job = scene.run([busy(20), idle(15)])  # an idle tail of a run of half an hour or more
    scene.play(bench.db, rolled_up=False)
    with bench.db.cursor() as cur:
        pause = [T0 + 5 * MINUTE, T0 + 15 * MINUTE, job]
        cur.execute(
            "INSERT INTO suspension SELECT run_key, 300, NULL, NULL, $1, $2 FROM run WHERE job_id_raw = $3", pause
        )
    bench.analyse()
    assert bench.findings() == []


def test_each_story_has_its_finding(bench: Bench, scene: Scene) -> None:
    run = partial(scene.run, timelimit_s=4 * 3600)
    stories = {
        "gpu_never_used": run([idle(120, held=True)]),
        "cpu_only": run([idle(120)], cpu_s=7200.0 * 7),
        "gpus_unused": run([busy(120)], [idle(120)]),
        "idle_head": run([idle(30), busy(90)]),
        "idle_tail": run([busy(90), idle(30)]),
        "low_utilization": run([busy(120, 12)]),
        "idle_now": run([busy(20), idle(100)], running=True),
        None: run([busy(120)], [busy(120)]),
    }
    scene.play(bench.db, rolled_up=False)
    assert bench.analyse() == len(stories)
    rows = bench.rows("SELECT rule, job_id_raw FROM finding JOIN run USING (run_key)")
    assert {(row["rule"], row["job_id_raw"]) for row in rows} == {(rule, job) for rule, job in stories.items() if rule}


def test_healthy_look_alikes_stay_clean(bench: Bench, scene: Scene) -> None:
    run = partial(scene.run, timelimit_s=4 * 3600)
    checkpoints = [phase for _ in range(12) for phase in (busy(9), idle(1, held=True))]
    run(checkpoints)  # pauses between bursts of work
    run([busy(60, 30)])  # moderate and steady
    run([idle(8), busy(112)])  # loads data first, for less than ten minutes
    run([busy(112), idle(8)])  # writes its result last
    run([busy(30), idle(60)], [idle(30), busy(60)])  # stages that take turns
    run([idle(14)])  # a quick try
    run(*[[busy(120, 35)]] * 4)  # balanced over four
    scene.play(bench.db, rolled_up=False)
    bench.analyse()
    assert bench.findings() == []
    assert bench.rows("SELECT * FROM unjudged") == []


def test_missing_data_accuses_nobody(bench: Bench, scene: Scene) -> None:
    scene.run([gap(100), idle(20)])  # agent started late
    scene.run([blind(120)])  # driver gives no utilization
    scene.run([idle(40), gap(10), idle(70)])  # nobody saw ten minutes of it
    scene.run([idle(120)], req_gpus=4, alloc_gpus=4)  # three nodes silent
    scene.run([idle(120)], req_gpus=None)
    scene.play(bench.db, rolled_up=False)
    bench.analyse()
    assert bench.findings() == []
    reasons = [row["reason"] for row in bench.rows("SELECT reason FROM unjudged ORDER BY run_key")]
    assert len(reasons) == 5


def test_faults_during_the_run_bar_it(bench: Bench, scene: Scene) -> None:
    scene.run([idle(120)], events=[Event(ts_ms=T0 + HOUR, kind="gpu_lost", device=0)])
    scene.run([idle(120)], events=[Event(ts_ms=T0 + HOUR, kind="agent_started")])
    scene.play(bench.db, rolled_up=False)
    bench.analyse()
    assert [row["rule"] for row in bench.rows("SELECT rule FROM finding")] == ["gpu_never_used"]
    assert "lost" in bench.rows("SELECT reason FROM unjudged")[0]["reason"]


def test_what_cannot_be_measured_is_named(bench: Bench, scene: Scene) -> None:
    never = NullReason(device=0, metric="util_pct", reason="not_supported", from_ms=T0, to_ms=T0 + 2 * HOUR)
    scene.run([blind(120)], nulls=[never])
    scene.play(bench.db, rolled_up=False)
    bench.analyse()
    assert bench.rows("SELECT reason FROM unjudged")[0]["reason"] == "utilization cannot be measured on its GPUs"


def test_idle_now_opens_stays_and_closes_with_the_run(bench: Bench, scene: Scene) -> None:
    scene.run([busy(20), idle(100)], running=True)
    scene.play(bench.db, rolled_up=False)
    bench.analyse()
    assert bench.findings() == [("idle_now", True, 100)]
    first = bench.rows("SELECT finding_id, found_ms FROM finding")
    bench.analyse()
    assert bench.rows("SELECT finding_id, found_ms FROM finding") == first
    _end(bench, T0 + 120 * MINUTE)
    bench.analyse()
    assert bench.findings() == [("idle_now", False, 0), ("idle_tail", True, 100)]


def test_idle_now_closes_when_work_begins_again(bench: Bench, scene: Scene) -> None:
    """The run is long, so that its footprint would not be due for another hour."""
    job = scene.run([busy(500), idle(100)], running=True)
    scene.play(bench.db)
    bench.analyse()
    _goes_on(bench, job, 600, busy(2))
    bench.analyse()
    assert bench.findings() == [("idle_now", False, 100)]
    sentence = "The GPU has been idle for the last 1 h 40 min. That is over."
    assert bench.rows("SELECT sentence FROM finding")[0]["sentence"] == sentence
    bench.analyse()
    assert bench.rows("SELECT sentence FROM finding")[0]["sentence"] == sentence


def test_idle_now_is_found_on_time_between_two_footprints(bench: Bench, scene: Scene) -> None:
    job = scene.run([busy(500), idle(50)], [busy(510), idle(40)], running=True)
    scene.play(bench.db)
    bench.analyse()
    assert bench.findings() == []
    _goes_on(bench, job, 550, idle(10), idle(10))
    bench.analyse()
    assert bench.findings() == []
    _goes_on(bench, job, 560, idle(10), idle(10))
    bench.analyse()
    assert bench.rows("SELECT end_ms FROM footprint_run") == [{"end_ms": T0 + 550 * MINUTE}]
    assert bench.findings() == [("idle_now", True, 120)]
    found = bench.rows("SELECT * FROM finding")[0]
    assert found["sentence"] == "Both GPUs have been idle for the last 1 h."
    assert (found["start_ms"], found["end_ms"]) == (T0 + 510 * MINUTE, T0 + 570 * MINUTE)


@pytest.mark.parametrize("second", [busy(20, 5), gap(20), blind(20)])
def test_idle_must_go_on_for_every_gpu(bench: Bench, scene: Scene, second: Phase) -> None:
    job = scene.run([busy(500), idle(50)], [busy(500), idle(50)], running=True)
    scene.play(bench.db)
    bench.analyse()
    _goes_on(bench, job, 550, idle(20), second)
    bench.analyse()
    assert bench.findings() == []


def test_idle_now_closes_when_rows_stop(bench: Bench, scene: Scene) -> None:
    """Data at rest says nothing of now."""
    scene.run([busy(20), idle(100)], running=True)
    scene.play(bench.db, rolled_up=False)
    bench.analyse()
    bench.analyse(now_ms=T0 + 120 * MINUTE + 10 * MINUTE)
    assert bench.findings() == [("idle_now", False, 100)]


def test_old_data_is_never_idle_now(bench: Bench, scene: Scene) -> None:
    scene.run([busy(20), idle(100)], running=True)
    scene.play(bench.db, rolled_up=False)
    bench.analyse(now_ms=T0 + 30 * 24 * HOUR)
    assert bench.findings() == []


def test_later_data_takes_a_finding_back(bench: Bench, scene: Scene) -> None:
    """Two GPUs were reported by one node first; the other node's rows arrive later and show the work."""
    scene.run([idle(120)], [busy(120)], nodes=2)
    late = scene.segments.pop(1)
    scene.play(bench.db, rolled_up=False)
    bench.analyse()
    assert bench.findings() == []
    assert len(bench.rows("SELECT * FROM unjudged")) == 1
    scene.segments = [late]
    scene.play(bench.db, rolled_up=False)
    bench.analyse()
    assert bench.findings() == [("gpus_unused", True, 120)]
    assert bench.rows("SELECT * FROM unjudged") == []


def test_a_judged_run_is_not_judged_again(bench: Bench, scene: Scene) -> None:
    scene.run([idle(120)])
    scene.play(bench.db, rolled_up=False)
    assert bench.analyse() == 1
    assert bench.analyse() == 0


def test_sessions_without_slurm(bench: Bench) -> None:
    scene = Scene(slurm=False)
    scene.run([idle(120, held=True)])
    scene.run([busy(60), idle(60, held=True)])
    scene.play(bench.db, rolled_up=False)
    bench.analyse()
    assert bench.findings() == [("gpu_never_used", True, 120), ("idle_tail", True, 60)]
    fixes = "".join(row["fix"] for row in bench.rows("SELECT fix FROM finding"))
    assert "SBATCH" not in fixes
    assert "sbatch" not in fixes


def _end(bench: Bench, end_ms: int) -> None:
    with bench.db.cursor() as cur:
        cur.execute("UPDATE run SET end_ms = $1, state = 'COMPLETED'", [end_ms])
        cur.execute("UPDATE allocation SET end_ms = $1", [end_ms])
        cur.execute("INSERT OR REPLACE INTO dirty_run (run_key, gen) SELECT run_key, 99 FROM run")


def _goes_on(bench: Bench, job: str, minutes: float, *phases: Phase) -> None:
    """The same node's next segment: the run holds on, and its GPUs do this from ``minutes`` after its start."""
    more = Scene()
    more.job = int(job) - 1
    more.run(*([phase] for phase in phases), start_ms=T0 + round(minutes * MINUTE), running=True, accounting=False)
    (segment,) = more.segments
    holding = msgspec.structs.replace(segment.holdings[0], start_ms=T0)
    more.segments = [msgspec.structs.replace(segment, seq=round(minutes), holdings=(holding,))]
    more.play(bench.db)
