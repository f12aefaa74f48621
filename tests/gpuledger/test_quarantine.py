"""`gpuledger quarantine` at rest and beside a running hub."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuledger.wiring import clock_ms
from store.ingest import ingest
from tests.e2e.ledger import Running
from tests.gpuledger.said import said
from tests.store.building import MINUTE, empty_store, packed, segment, steady


@pytest.fixture(params=["at rest", "beside a hub"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    data = tmp_path / "data"
    with empty_store(data) as database:
        now_ms = clock_ms() // MINUTE * MINUTE  # the command has no other clock
        ingest(database, [("bad", b"nothing")], now_ms)
        [(name, good)] = packed(segment(steady(now_ms - 2 * MINUTE, now_ms - MINUTE)))
        (data / "quarantine" / f"{name}.seg").write_bytes(good)
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


def test_reasons_are_listed_and_segments_tried_again(where: Path) -> None:
    listed = said("quarantine", "list", "--data", where)
    assert listed.code == 0
    assert listed.out.startswith("1 segment, the newest of ")
    assert ": not a segment: 7 bytes" in listed.out
    tried = said("quarantine", "retry", "--data", where)
    assert tried.out.startswith("1 segment with 6 rows taken in, 1 refused.\nnot a segment: ")
    assert tried.code == 1
    counted = said("query", "SELECT count(*) AS n FROM gpu_samples", "--data", where, "--csv")
    assert counted.out.split() == ["n", "6"]
