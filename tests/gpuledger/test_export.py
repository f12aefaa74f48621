"""`gpuledger export` beside a running hub and at rest."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.e2e.ledger import Running
from tests.gpuledger.said import refused, said
from tests.store.building import HOUR, MINUTE, T0, empty_store, hold, segment, steady, store


@pytest.fixture(params=["at rest", "beside a hub"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    data = tmp_path / "data"
    with empty_store(data) as database:
        rows = steady(T0, T0 + HOUR, 0, 0, MINUTE, util_pct=905)
        store(database, segment(rows, holdings=[hold("100", T0, T0 + HOUR)]))
    if request.param == "at rest":
        yield data
        return
    hub = Running(tmp_path / "log", "serve", "--data", data, "--port", 0)
    try:
        assert hub.address
        yield data
        assert hub.stop() == 0
    finally:
        hub.end()


def test_plain_files_come_out(where: Path, tmp_path: Path) -> None:
    done = said("export", "--format", "parquet", tmp_path / "out", "--data", where)
    assert (done.code, done.err) == (0, "")
    lines = [
        "runs: 1 row",
        "findings: 0 rows",
        "gpu_hours: 1 row",
        "gpu_samples: 60 rows",
        f"4 files in {tmp_path / 'out'}.",
    ]
    assert done.out.splitlines() == lines
    assert pq.read_table(tmp_path / "out" / "gpu_samples" / "2026-11-23.parquet")["util_pct"].to_pylist() == [90.5] * 60
    assert "is not empty" in refused("export", "--format", "csv", tmp_path / "out", "--data", where)

    part = ("--from", "2026-11-23T00:30", "--to", "2026-11-24")
    some = said("export", "--format", "csv", tmp_path / "csv", "--data", where, *part)
    assert "gpu_samples: 30 rows" in some.out
    assert "--from is a date or time" in refused(
        "export", "--format", "csv", tmp_path / "no", "--data", where, "--from", "soon", code=2
    )
    assert "lies after --from" in refused(
        "export", "--format", "csv", tmp_path / "no", "--data", where, "--to", "1970-01-01", code=2
    )
    assert not (tmp_path / "no").exists()
