"""What the benchmark of the queries prints, not how fast it was; and that its year is one that could have been."""

import json
from pathlib import Path

import pytest

from benchmarks.queries.__main__ import main
from benchmarks.queries.measure import QUICK
from benchmarks.queries.year.build import Built, built
from benchmarks.queries.year.sizes import YearSizes
from store.database import Database

FIGURES = {
    *("gpus", "runs", "worst_query", "worst_median_ms", "worst_max_ms", "worst_longest_median_ms", "raw_run_hot_ms"),
    *("raw_run_sealed_ms", "me_ms", "me_cpu_ms", "jobs_90d_ms", "page_job_ms"),
}
SIZES = YearSizes(nodes=8, days=3, runs=600, users=9, accounts=4, minute_days=1)


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    directory = tmp_path_factory.mktemp("bench") / "year"
    return directory, built(directory, SIZES)


def test_it_prints_every_figure(capsys: pytest.CaptureFixture[str], year: tuple[Path, Built]) -> None:
    options = [f"--{name}={getattr(SIZES, name)}" for name in ("days", "runs", "users", "accounts")]
    main(["--json", "--quick", "--repeats", "1", "--keep", str(year[0].parent), *options])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["name", "machine", "sizes", "figures", "peers"]
    assert found["sizes"]["nodes"] == QUICK.nodes == SIZES.nodes
    figures = found["figures"]
    assert figures.keys() >= FIGURES
    assert figures["gpus"] == 64
    assert all(figures[name] > 0 for name in figures if name.endswith("_ms") and "cpu" not in name)
    assert figures["worst_max_ms"] >= figures["worst_median_ms"] == figures[f"{figures['worst_query']}_ms"]


def test_the_year_is_consistent(year: tuple[Path, Built]) -> None:
    directory, note = year
    with Database.open(directory, read_only=True) as database, database.cursor() as cur:
        split = "sum(active_ms + low_ms + idle_held_ms + idle_ms + unknown_ms)"
        held, parts = cur.tuples(f"SELECT sum(held_ms), {split} FROM gpu_hour")[0]
        last_ms = cur.scalar("SELECT max(last_ms) FROM node")
        allocated = cur.scalar("SELECT sum(coalesce(end_ms, $1) - start_ms) FROM allocation", [last_ms])
        assert held == parts == allocated
        for table in ("node_hour", "holder_hour", "node_day", "holder_day"):
            assert cur.scalar(f"SELECT sum(held_ms) FROM {table}") == held
        assert 0.8 * SIZES.runs < cur.scalar("SELECT count(*) FROM run") < 1.2 * SIZES.runs
        gpus = cur.tuples("SELECT run_key, count(*) FROM allocation GROUP BY run_key HAVING count(*) = 8")
        assert {note.hot_run, note.sealed_run} <= {run for run, _ in gpus}
        assert cur.scalar("SELECT count(*) FROM hot WHERE run_key = $1", [note.hot_run]) > 20_000


def test_a_kept_year_is_taken_again(year: tuple[Path, Built]) -> None:
    directory, note = year
    before = (directory / "built.json").stat().st_mtime_ns
    assert built(directory, SIZES) == note
    assert (directory / "built.json").stat().st_mtime_ns == before
