"""What the benchmark of the analysis prints, and that its store is one: not how fast it was."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.analysis.__main__ import Sizes, main
from benchmarks.analysis.week import make_due, week
from store import manifest
from store.samples import samples

HOUR_MS = 3_600_000
SIZES = ["--nodes", "2", "--gpus", "4", "--interval-s", "120"]
CONTRACT = {"raw_rows", "means_s", "footprint_s", "rules_s", "report_s"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("week")
    week(directory, Sizes(nodes=2, gpus=4, interval_s=120).fleet).close()
    return directory


def _printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    main(["--json", "--quick", *SIZES, *arguments])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_it_prints_every_figure_and_uses_a_kept_store_again(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = _printed(capsys, "--keep", str(kept))
    assert list(found) == ["name", "machine", "sizes", "figures", "peers"]
    figures = found["figures"]
    assert figures.keys() >= CONTRACT
    assert 0.998 * 8 * 7 * 24 * 30 < figures["raw_rows"] < 8 * 7 * 24 * 30
    assert figures["run_gpus"] >= figures["runs"] > 20
    assert figures["findings"] > 0
    again = _printed(capsys, "--keep", str(kept))["figures"]
    same = ("raw_rows", "runs", "run_gpus", "findings", "sealed_bytes")
    assert [again[name] for name in same] == [figures[name] for name in same]


def test_the_store_is_as_the_merge_leaves_it(kept: Path) -> None:
    with week(kept, Sizes(nodes=2, gpus=4, interval_s=120).fleet) as database, database.cursor() as cursor:
        make_due(database)
        files = manifest.files(cursor)
        assert len(files) == 7
        assert all(manifest.day_of(file.from_ms) == manifest.day_of(file.to_ms) == file.day for file in files)
        held_ms, covered_ms = cursor.tuples(
            "SELECT sum(held_ms)::BIGINT, sum(covered_ms)::BIGINT FROM gpu_hour WHERE run_key IS NOT NULL"
        )[0]
        assert 0.95 * held_ms < covered_ms <= held_ms
        with samples(cursor, 0, 2**61):
            [(rows, gpus, most_ms)] = cursor.tuples(
                "SELECT count(util_pct), count(DISTINCT gpu_key), max(ts_ms) - min(ts_ms) FROM samples"
            )
        assert rows == sum(file.rows for file in files)
        assert gpus == 8
        assert most_ms > 167 * HOUR_MS


def test_a_store_of_another_fleet_is_refused(kept: Path) -> None:
    with pytest.raises(ValueError, match="name another directory"):
        week(kept, Sizes(nodes=3).fleet)
