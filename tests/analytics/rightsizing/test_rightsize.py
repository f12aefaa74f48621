"""The next request of a family, from runs that were really stored."""

import json
from typing import Any

import pytest

from analytics.footprint import footprints
from analytics.rightsizing import rightsize
from analytics.settings import AnalyticsSettings, RightsizingSettings
from store.database import Database
from tests.factories.ledger import DAY, HOUR, MINUTE, T0
from tests.factories.scenes import Phase, Scene, busy, idle

SETTINGS = RightsizingSettings()


class Bench:
    """A store with its recommendations by kind; runs are a day apart unless said otherwise."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.scene = Scene(interval_s=60)
        self.days = 0

    def add(self, *gpus: list[Phase], times: int = 1, **described: Any) -> None:
        for _ in range(times):
            self.scene.run(*gpus, start_ms=T0 + self.days * DAY, **described)
            self.days += 1

    def made(self, settings: RightsizingSettings = SETTINGS) -> dict[str, dict[str, Any]]:
        if self.scene.segments:
            self.scene.play(self.db, rolled_up=False)
        footprints(self.db, 0, AnalyticsSettings().footprint)
        rightsize(self.db, T0 + self.days * DAY, settings)
        with self.db.cursor() as cur:
            rows: list[dict[str, Any]] = cur.arrow("SELECT * FROM recommendation").to_pylist()
        return {row["kind"]: row for row in rows}


@pytest.fixture
def bench(db: Database) -> Bench:
    return Bench(db)


def test_one_gpu_of_four(bench: Bench) -> None:
    bench.add([busy(60)], *[[idle(60)]] * 3, times=5)
    found = bench.made()["gpus"]
    assert (found["current"], found["proposed"]) == ("4 GPUs", "1 GPU")
    assert (found["before_lines"], found["after_lines"]) == ("#SBATCH --gres=gpu:4", "#SBATCH --gres=gpu:1")
    assert found["gpu_ms_week"] == 5 * 3 * HOUR  # five days count as one week
    assert (found["family_runs"], found["over_ms"]) == (5, 7 * DAY)
    assert found["energy_j_week"] == pytest.approx(5 * 3 * 70 * 3600)
    assert found["would_have_failed"] == 0
    assert found["provisional"]
    assert found["confidence"] == "medium"
    assert (found["runs"], found["submissions"], found["missing"]) == (5, 5, None)
    assert len(json.loads(found["run_keys"])) == 5
    assert found["gain"] == "The wait is not known: too few jobs to compare."


def test_twenty_runs_are_no_longer_provisional(bench: Bench) -> None:
    bench.add([busy(60)], [idle(60)], times=20)
    found = bench.made()["gpus"]
    assert not found["provisional"]
    assert found["confidence"] == "high"


def test_balanced_low_use_is_no_case_for_fewer(bench: Bench) -> None:
    bench.add([busy(60, 8)], [busy(60, 9)], times=6)
    assert "gpus" not in bench.made()


@pytest.mark.parametrize(
    ("mem_mib", "proposed"),
    [(20_000, "1 GPU"), (72_000, "1 GPU"), (72_001, "2 GPUs"), (76_000, "2 GPUs")],
)
def test_memory_must_fit_into_nine_tenths_of_what_is_left(bench: Bench, mem_mib: int, proposed: str) -> None:
    bench.add([busy(60, mem_mib=mem_mib)], *[[idle(60)]] * 3, times=5)
    assert bench.made()["gpus"]["proposed"] == proposed


def test_memory_held_on_an_idle_gpu_counts(bench: Bench) -> None:
    bench.add([busy(60, mem_mib=60_000)], [Phase(minutes=60, mem_mib=60_000, below1_ratio=1.0)], [idle(60)], times=5)
    assert bench.made()["gpus"]["proposed"] == "2 GPUs"


def test_no_gpu_at_all(bench: Bench) -> None:
    bench.add([idle(60)], times=5)
    found = bench.made()["gpus"]
    assert found["proposed"] == "no GPU"
    assert (found["before_lines"] != "", found["after_lines"]) == (True, "")
    assert "CPU partition" in found["gain"]


def test_two_nodes_become_one(bench: Bench) -> None:
    bench.add(*[[busy(60)]] * 3, *[[idle(60)]] * 5, nodes=2, times=5)
    found = bench.made()["gpus"]
    assert found["before_lines"] == "#SBATCH --nodes=2\n#SBATCH --gres=gpu:4"
    assert found["after_lines"] == "#SBATCH --gres=gpu:3"


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 1000"])
def test_one_run_that_used_them_all_keeps_them(bench: Bench, state: str) -> None:
    bench.add([busy(60)], [idle(60)], times=5)
    bench.add([busy(60)], [busy(60)], state=state)
    assert "gpus" not in bench.made()


def test_failed_and_short_runs_do_not_argue_for_less(bench: Bench) -> None:
    bench.add([busy(60)], [idle(60)], times=6, state="FAILED")
    bench.add([busy(9)], [idle(9)], times=6)
    assert "gpus" not in bench.made()


@pytest.mark.parametrize(
    ("runs", "same_array", "missing"),
    [
        (4, False, "4 of 5 comparable finished runs so far"),
        (5, True, "runs of 1 of 3 submissions so far"),
        (5, False, None),
    ],
)
def test_says_what_is_missing(bench: Bench, runs: int, same_array: bool, missing: str | None) -> None:
    for task in range(runs):
        bench.add([busy(60)], [idle(60)], job_id=f"900_{task}" if same_array else str(9000 + task))
    assert bench.made()["gpus"]["missing"] == missing


def test_time_limit_from_what_runs_took(bench: Bench) -> None:
    for minutes in (60, 70, 80, 90, 100):
        bench.add([busy(minutes)], timelimit_s=2 * 86_400)
    found = bench.made()["walltime"]
    # p95 of the five is 98 min: 1.2 x 98 = 117.6 is more than 1.1 x 100; rounded up to the quarter of an hour: 2 h
    assert (found["current"], found["proposed"]) == ("2 d", "2 h")
    assert found["before_lines"] == "#SBATCH --time=2-00:00:00"
    assert found["after_lines"] == "#SBATCH --time=02:00:00"
    assert found["would_have_failed"] == 0
    assert found["gpu_ms_week"] == 0


def test_the_longest_run_keeps_its_tenth(bench: Bench) -> None:
    bench.add([busy(30)], times=30, timelimit_s=86_400)
    bench.add([busy(200)], timelimit_s=86_400)
    assert bench.made()["walltime"]["proposed"] == "3 h 45 min"  # 1.1 x 200 = 220 min


def test_a_time_out_forbids_any_less(bench: Bench) -> None:
    bench.add([busy(60)], times=6, timelimit_s=86_400)
    bench.add([busy(60)], state="TIMEOUT", timelimit_s=3600)
    assert "walltime" not in bench.made()


def test_a_long_run_that_failed_keeps_the_limit_up(bench: Bench) -> None:
    bench.add([busy(60)], times=5, timelimit_s=86_400)
    bench.add([busy(190)], state="FAILED", timelimit_s=86_400)
    assert bench.made()["walltime"]["proposed"] == "3 h 15 min"


def test_no_limit_gets_one(bench: Bench) -> None:
    bench.add([busy(60)], times=5, timelimit_s=None, timelimit_unlimited=True)
    found = bench.made()["walltime"]
    assert (found["current"], found["proposed"]) == ("no limit", "1 h 15 min")


@pytest.mark.parametrize(("limit_min", "is_made"), [(94, True), (93, False)])
def test_a_little_less_is_not_worth_a_line(bench: Bench, limit_min: int, is_made: bool) -> None:
    bench.add([busy(60)], times=5, timelimit_s=limit_min * 60)  # 75 min would do; a fifth less is 93.75
    assert ("walltime" in bench.made()) is is_made


def test_another_name_is_another_family(bench: Bench) -> None:
    bench.add([busy(60)], [idle(60)], times=3, name="alpha-1")
    bench.add([busy(60)], [idle(60)], times=3, name="beta-1")
    assert bench.made()["gpus"]["missing"] is not None


def test_digits_in_a_name_do_not_matter(bench: Bench) -> None:
    for number in range(5):
        bench.add([busy(60)], [idle(60)], name=f"train-lr0.{number}-3f2a9b1c{number}")
    made = bench.made()["gpus"]
    assert made["missing"] is None
    assert made["name"] == "train-lr*"


def test_shared_gpus_and_sessions_asked_for_nothing_to_shrink(bench: Bench) -> None:
    bench.add([busy(60)], [idle(60)], times=6, shared=True)
    assert bench.made() == {}


def test_waits_tell_what_is_gained(bench: Bench) -> None:
    for number in range(20):
        start = T0 + bench.days * DAY
        bench.add([busy(60)], [idle(60)], submit_ms=start - 90 * MINUTE)
        bench.scene.run([busy(20)], start_ms=start, submit_ms=start - 5 * MINUTE, name=f"other{number}x", user="bob")
    found = bench.made()["gpus"]
    assert found["gain"] == "Shorter wait: jobs with 1 GPU started after 5 min against 1 h 30 min for those with 2."


def test_the_same_again_keeps_its_first_day(bench: Bench) -> None:
    bench.add([busy(60)], [idle(60)], times=5)
    first = bench.made()["gpus"]
    bench.add([busy(60)], [idle(60)])
    again = bench.made()["gpus"]
    assert again["recommendation_id"] == first["recommendation_id"]
    assert again["made_ms"] == first["made_ms"]
    assert again["runs"] == 6


def test_old_runs_are_forgotten(bench: Bench) -> None:
    bench.add([busy(60)], [busy(60)])
    bench.days += 91
    bench.add([busy(60)], [idle(60)], times=5)
    assert bench.made()["gpus"]["proposed"] == "1 GPU"
