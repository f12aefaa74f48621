"""`gpuledger query` at rest and beside a running hub, which answers its owner alone."""

import csv
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from store import tokens
from store.database import Database
from tests.e2e.ledger import Running
from tests.factories.ledger import T0, Ledger
from tests.gpuledger.said import refused, said

SQL = 'SELECT job_id, "user", held_gpu_h, util_pct, start_utc FROM runs'


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query")
    with Database.open(folder) as database, database.cursor() as cursor:
        ledger = Ledger()
        run, gpu = ledger.run("101"), ledger.gpu(ledger.node("n1"))
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, T0, active=40, idle=20, util_pct=70)
        ledger.save(cursor)
        tokens.create(cursor, "nodes", T0)
    return folder


@pytest.fixture(params=["at rest", "beside a hub"])
def where(request: pytest.FixtureRequest, data: Path, tmp_path: Path) -> Iterator[Path]:
    if request.param == "at rest":
        yield data
        return
    hub = Running(tmp_path / "log", "serve", "--data", data, "--port", 0)
    try:
        assert hub.address
        yield data
        address = urlsplit(hub.address)
        connection = http.client.HTTPConnection(address.hostname or "", address.port)
        connection.request("POST", "/api/v1/query", json.dumps({"sql": SQL, "limit": 1, "timeout_s": 1}))
        answer = connection.getresponse()
        assert answer.status == 403
        assert "by its owner" in answer.read().decode()
        connection.close()
        assert hub.stop() == 0
    finally:
        hub.end()


def test_a_select_is_answered(where: Path) -> None:
    to = ("--data", where)
    text = said("query", SQL, *to)
    assert text.code == 0, text
    assert text.out.splitlines()[1].split() == ["101", "ann", "1.0", "70.0", "2026-11-23T00:00:00"]
    as_json = said("query", SQL, *to, "--json")
    assert json.loads(as_json.out) == [
        {"job_id": "101", "user": "ann", "held_gpu_h": 1.0, "util_pct": 70.0, "start_utc": "2026-11-23T00:00:00"}
    ]
    as_csv = said("query", SQL, *to, "--csv")
    assert list(csv.reader(as_csv.out.splitlines()))[1] == ["101", "ann", "1.0", "70.0", "2026-11-23T00:00:00"]
    twice = said("query", "SELECT 1 AS a, 2 AS a", *to, "--json")
    assert json.loads(twice.out) == [{"a": 1, "a_1": 2}]
    taken = said("query", "SELECT 1 AS a_2, 2 AS a, 3 AS a, 4 AS a_1", *to, "--json")
    assert json.loads(taken.out) == [{"a_2": 1, "a": 2, "a_3": 3, "a_1": 4}]
    none = said("query", 'SELECT 1 AS "a,b", 2 AS c, 3 AS c WHERE false', *to, "--csv")
    assert list(csv.reader(none.out.splitlines())) == [["a,b", "c", "c_1"]]

    cut = said("query", "SELECT range AS n FROM range(5)", *to, "--limit", 2)
    assert (cut.code, cut.out.split()) == (0, ["n", "0", "1"])
    assert cut.err == "More rows follow these 2; --limit prints more of them.\n"

    assert "exactly one SELECT" in refused("query", "SELECT 1; SELECT 2", *to)
    assert "exactly one SELECT" in refused("query", "DELETE FROM run", *to)
    assert "'token' is no table or view" in refused("query", "FROM token", *to)
    assert "'read_text' is no function" in refused("query", "FROM read_text('/etc/passwd')", *to)
    assert "stopped after 1 s" in refused(
        "query", "SELECT count(*) FROM range(1e9::BIGINT) a, range(1e9::BIGINT) b", *to, "--timeout", 1
    )


def test_a_directory_without_data_has_no_answer(tmp_path: Path) -> None:
    assert "holds no data yet" in refused("query", "SELECT 1", "--data", tmp_path)
    said_of_limit = refused("query", "SELECT 1", "--data", tmp_path, "--limit", 10_000_000, code=2)
    assert "1000000" in said_of_limit
