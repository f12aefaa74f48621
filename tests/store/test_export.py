"""An export is plain files of one moment in natural units: whole or not there, however much it is."""

import csv
import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from store.database import Database
from store.errors import StoreError
from store.export import Exported, export
from store.merge import merge
from store.seal import seal
from store.settings import StoreSettings
from tests.factories.ledger import Ledger
from tests.store.building import HOUR, MINUTE, NOW, T0, hold, segment, steady, store

AT_ONCE = StoreSettings(seal_after_s=0, merge_after_s=0)
DAY = 24 * HOUR


@pytest.fixture
def filled(database: Database) -> Database:
    """Two days of which one is sealed; a run and a finding in each."""
    for day in (0, 1):
        from_ms = T0 + day * DAY
        rows = steady(from_ms, from_ms + HOUR, 0, 0, MINUTE, util_pct=905, power_w=5555)
        store(database, segment(rows, seq=day, holdings=[hold(str(100 + day), from_ms, from_ms + HOUR, user="=1+1")]))
        if not day:
            seal(database, AT_ONCE, NOW)
    with database.cursor() as cursor:
        ledger = Ledger()
        ledger.finding(None, gpu_h=2.0, start_ms=T0, end_ms=T0 + HOUR)
        ledger.save(cursor)
    return database


def parquet(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        str(file.relative_to(folder)): pq.read_table(file).to_pylist() for file in sorted(folder.rglob("*.parquet"))
    }


def test_everything_is_there_in_natural_units(filled: Database, tmp_path: Path) -> None:
    done = export(filled, tmp_path / "out", "parquet")
    assert done == Exported(rows={"runs": 2, "findings": 1, "gpu_hours": 2, "gpu_samples": 120}, files=5)
    found = parquet(tmp_path / "out")
    assert list(found) == [
        "findings.parquet",
        "gpu_hours.parquet",
        "gpu_samples/2026-11-23.parquet",
        "gpu_samples/2026-11-24.parquet",
        "runs.parquet",
    ]
    first = found["gpu_samples/2026-11-23.parquet"][0]
    assert (first["util_pct"], first["power_w"], first["job_id"]) == (90.5, 555.5, "100")
    assert first["time_utc"].isoformat() == "2026-11-23T00:01:00+00:00"
    assert [row["held_gpu_h"] for row in found["runs.parquet"]] == [1.0, 1.0]
    assert (tmp_path / "out" / "runs.parquet").stat().st_mode & 0o777 == 0o644
    assert not (filled.directory / "copying").exists()


def test_csv_holds_the_same_and_no_formula(filled: Database, tmp_path: Path) -> None:
    done = export(filled, tmp_path / "csv", "csv")
    assert done.rows == export(filled, tmp_path / "parquet", "parquet").rows
    with (tmp_path / "csv" / "gpu_samples" / "2026-11-24.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    assert (rows[0]["util_pct"], rows[0]["user"], rows[0]["job_id"]) == ("90.5", "'=1+1", "101")
    assert rows[0]["time_utc"].startswith("2026-11-24 00:01:00")
    assert rows[0]["temp_c"] == ""  # unknown is empty, not 0


def test_a_period_is_half_open(filled: Database, tmp_path: Path) -> None:
    done = export(filled, tmp_path / "out", "parquet", T0 + DAY, T0 + DAY + HOUR // 2)
    assert done.rows == {"runs": 1, "findings": 0, "gpu_hours": 1, "gpu_samples": 30}


def test_it_is_of_one_moment_whatever_happens_meanwhile(filled: Database, tmp_path: Path) -> None:
    """Ingest, sealing, merging and the sweeping of replaced files go on, and wait for nobody."""
    before = export(filled, tmp_path / "before", "parquet")
    seqs = iter(range(10, 100))

    def work() -> None:
        seq = next(seqs)
        store(filled, segment(steady(T0 + seq * HOUR, T0 + (seq + 1) * HOUR, 0, None, MINUTE), seq=seq))
        seal(filled, AT_ONCE, NOW)
        merge(filled, AT_ONCE, NOW + HOUR)
        seal(filled, AT_ONCE, NOW + HOUR)

    def meanwhile(file: str) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), file

    assert export(filled, tmp_path / "out", "parquet", step=meanwhile) == before
    assert parquet(tmp_path / "out") == parquet(tmp_path / "before")


def test_what_is_not_whole_is_not_there(filled: Database, tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(file: str) -> None:
        if file == "gpu_hours":
            raise Stopped

    with pytest.raises(Stopped):
        export(filled, tmp_path / "out", "csv", step=stop)
    assert list(tmp_path.iterdir()) == [filled.directory]


def test_a_directory_in_use_is_refused(filled: Database, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert export(filled, tmp_path / "out", "csv").files == 5
    with pytest.raises(StoreError, match="is not empty"):
        export(filled, tmp_path / "out", "csv")
    with pytest.raises(StoreError):
        export(filled, tmp_path / "out" / "runs.csv" / "below", "csv")


def test_a_store_without_data_gives_empty_files(database: Database, tmp_path: Path) -> None:
    done = export(database, tmp_path / "out", "csv")
    assert done == Exported(rows={"runs": 0, "findings": 0, "gpu_hours": 0, "gpu_samples": 0}, files=3)
    assert (tmp_path / "out" / "runs.csv").read_text().startswith('"run_key","kind"')
