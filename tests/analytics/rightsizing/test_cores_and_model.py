"""More cores and smaller GPUs, from what was found in runs that were really stored and judged."""

from typing import Any

import pytest

from analytics.footprint import footprints
from analytics.judge import judge
from analytics.rightsizing import rightsize
from analytics.settings import AnalyticsSettings
from store.database import Database
from tests.factories.ledger import DAY, T0
from tests.factories.scenes import Phase, Scene, busy
from tests.store.building import inventory, store, word

SETTINGS = AnalyticsSettings()
H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB"
LARGE = {"model": H100, "mem_total_mib": 81_559}


class Bench:
    """Runs of one family a day apart, each on a node of its own that Slurm has told of."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.scene = Scene(interval_s=60)
        self.days = 0

    def add(self, phase: Phase, times: int = 5, *, cpus: int | None = 16, **more: Any) -> None:
        for _ in range(times):
            at_ms = T0 + self.days * DAY
            self.scene.run([phase], start_ms=at_ms, **{"gpu_type": "h100", "timelimit_s": 7200} | more)
            if cpus:
                store(self.db, inventory(word(f"n{self.scene.job}-0", at_ms, cpus=cpus), seq=self.scene.job))
            self.days += 1

    def made(self) -> dict[str, dict[str, Any]]:
        self.scene.play(self.db, rolled_up=False)
        now_ms = T0 + self.days * DAY
        footprints(self.db, now_ms, SETTINGS.footprint)
        judge(self.db, now_ms, SETTINGS)
        rightsize(self.db, now_ms, SETTINGS.rightsizing)
        with self.db.cursor() as cur:
            rows: list[dict[str, Any]] = cur.arrow("SELECT * FROM recommendation").to_pylist()
        return {row["kind"]: row for row in rows}


@pytest.fixture
def bench(db: Database) -> Bench:
    return Bench(db)


STARVED = {"alloc_cpus": 2, "cpu_s": 2 * 3500.0}


def test_cores_up_to_the_nodes_share(bench: Bench) -> None:
    bench.add(busy(60, 15), **STARVED)
    found = bench.made()["cores"]
    assert (found["current"], found["proposed"]) == ("2 cores per GPU", "16 cores per GPU")
    assert (found["before_lines"], found["after_lines"]) == ("#SBATCH --cpus-per-gpu=2", "#SBATCH --cpus-per-gpu=16")
    assert found["gain"] == "Faster runs: all cores were busy with the GPUs at 15 % in 5 of 5 runs."
    assert (found["gpu_ms_week"], found["would_have_failed"], found["missing"]) == (0, 0, None)


def test_no_more_cores_than_are_known_of(bench: Bench) -> None:
    bench.add(busy(60, 15), cpus=None, **STARVED)
    assert "cores" not in bench.made()


def test_one_starved_run_is_no_pattern(bench: Bench) -> None:
    bench.add(busy(60, 15), 2, **STARVED)
    bench.add(busy(60, 60), 3, alloc_cpus=2)
    assert "cores" not in bench.made()


def _small(mem_mib: int) -> Phase:
    return busy(60, 60, mem_mib=mem_mib, sm_active_pct=6.0)


def _elsewhere(bench: Bench) -> None:
    """A node with smaller GPUs, where somebody else computes."""
    other = {"device": {"model": A100, "mem_total_mib": 40_960}, "user": "bob", "name": "other", "gpu_type": "a100"}
    bench.add(busy(60), 1, **other)


def test_a_smaller_gpu_that_every_run_fits(bench: Bench) -> None:
    _elsewhere(bench)
    bench.add(_small(20_000), device=LARGE)
    found = bench.made()["model"]
    assert (found["current"], found["proposed"]) == (H100, A100)
    assert found["before_lines"] == "#SBATCH --gres=gpu:h100:1"
    assert found["gain"] == "The wait is not known: too few jobs to compare."


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
def test_a_run_that_held_more_speaks_against_it(bench: Bench, state: str) -> None:
    _elsewhere(bench)
    bench.add(_small(20_000), device=LARGE)
    bench.add(_small(50_000), 1, device=LARGE, state=state)
    assert "model" not in bench.made()
