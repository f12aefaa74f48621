"""`gpuledger backup` beside a running hub and at rest, and `gpuledger restore`."""

import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from store.database import Database
from tests.e2e.ledger import Running
from tests.factories.ledger import T0, Ledger
from tests.gpuledger.said import refused, said

SQL = "SELECT job_id, held_gpu_h FROM runs ORDER BY ALL"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    with Database.open(folder) as database, database.cursor() as cursor:
        ledger = Ledger()
        run, gpu = ledger.run("101"), ledger.gpu(ledger.node("n1"))
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, T0, active=40, idle=20, util_pct=70)
        ledger.save(cursor)
    return folder


def test_a_backup_beside_the_hub_comes_back(data: Path, tmp_path: Path) -> None:
    before = said("query", SQL, "--data", data, "--csv")
    hub = Running(tmp_path / "log", "serve", "--data", data, "--port", 0)
    try:
        address = urlsplit(hub.address)
        connection = http.client.HTTPConnection(address.hostname or "", address.port)
        connection.request("POST", "/api/v1/backup", json.dumps({"directory": str(tmp_path / "theirs")}))
        assert connection.getresponse().status == 403
        connection.close()
        token = said("token", "add", "nodes", "--data", data).out.strip()
        made = said("backup", tmp_path / "backup", "--data", data)
        assert made.code == 0, made
        assert made.out.startswith(f"{tmp_path / 'backup'} holds the store up to Mon 30 Nov 00:00: ")
        assert "is not empty" in refused("backup", tmp_path / "backup", "--data", data)
        assert "lies in the data directory" in refused("backup", data / "inside", "--data", data)
        assert "is in use by process" in refused("restore", tmp_path / "backup", "--data", data, "--replace")
        assert hub.stop() == 0
    finally:
        hub.end()
    assert not (tmp_path / "theirs").exists()
    assert "--replace" in refused("restore", tmp_path / "backup", "--data", data)
    assert said("restore", tmp_path / "backup", "--data", data, "--replace").code == 0
    assert said("restore", tmp_path / "backup", "--data", tmp_path / "new").code == 0
    for place in (data, tmp_path / "new"):
        assert said("query", SQL, "--data", place, "--csv") == before
        with Database.open(place) as database, database.cursor() as cursor:
            assert cursor.scalar("SELECT count(*) FROM token") == 1
    assert token.startswith("gpl_")


def test_at_rest_a_backup_is_made_too(data: Path, tmp_path: Path) -> None:
    made = said("backup", tmp_path / "backup", "--data", data)
    assert (made.code, made.err) == (0, "")
    assert said("restore", tmp_path / "backup", "--data", tmp_path / "new").code == 0
    assert said("query", SQL, "--data", tmp_path / "new") == said("query", SQL, "--data", data)


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    assert "holds no data yet" in refused("backup", tmp_path / "backup", "--data", tmp_path / "none")
    assert "no whole backup" in refused("restore", tmp_path / "backup", "--data", tmp_path / "new")
    assert not (tmp_path / "new").exists()
