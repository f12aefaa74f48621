"""`gpuledger note`: pinned through the running hub's socket file or at rest, and by nobody who comes through TCP."""

import contextlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from store.database import Database
from tests.e2e.ledger import Running, write_config
from tests.factories.ledger import T0, Ledger
from tests.gpuledger.said import refused, said


def filled(data: Path) -> Path:
    with Database.open(data) as database, database.cursor() as cursor:
        ledger = Ledger()
        run, gpu = ledger.run("101"), ledger.gpu(ledger.node("n1"))
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, T0, active=60)
        ledger.save(cursor)
    return data


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "log", "serve", "--data", filled(tmp_path), "--port", 0)
    assert running.address
    yield running
    running.end()


def ask(hub: Running, method: str, target: str, body: object = None) -> tuple[int, str]:
    address = urlsplit(hub.address)
    with contextlib.closing(http.client.HTTPConnection(address.hostname or "", address.port)) as connection:
        connection.request(method, target, json.dumps(body))
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_notes_of_a_running_hub(hub: Running) -> None:
    where = ("--data", hub.log.parent)
    assert said("note", "list", *where).out.startswith("There is no note yet")
    given = ("--at", "2026-11-23T08:00", "--until", "2026-11-23T12:00", "--kind", "maintenance")
    assert said("note", "add", "new cooling", *given, *where).out == "Note 1 is pinned.\n"
    line = said("note", "list", *where).out
    assert line.startswith("1: Mon 23 Nov 08:00 to Mon 23 Nov 12:00, maintenance: new cooling (by ")
    (item,) = json.loads(ask(hub, "GET", "/api/v1/notes")[1])["items"]
    assert (item["text"], item["kind"]) == ("new cooling", "maintenance")
    assert "ends after it begins" in refused("note", "add", "x", "--at", "2026-11-23", "--until", "2026-11-22", *where)
    assert said("note", "remove", "1", *where).out == "Note 1 is gone.\n"
    assert "There is no note 1" in refused("note", "remove", "1", *where)


def test_nobody_pins_through_the_network(hub: Running) -> None:
    note = {"at_ms": T0, "kind": "policy", "text": "x", "who": "eve"}
    for method, target in (("POST", "/api/v1/notes"), ("DELETE", "/api/v1/notes/1")):
        status, text = ask(hub, method, target, note)
        assert status == 403
        assert "on the hub's own machine" in text
    assert json.loads(ask(hub, "GET", "/api/v1/notes")[1])["items"] == []


def test_notes_at_rest(tmp_path: Path) -> None:
    where = ("--data", filled(tmp_path))
    config = write_config(tmp_path / "config.toml", site={"zone": "Europe/Berlin"})
    assert said("note", "add", "deadline", "--kind", "deadline", "--at", "2026-11-23T08:00", *where).code == 0
    assert "Mon 23 Nov 09:00, deadline: deadline" in said("note", "list", "--config", config, *where).out
    assert said("note", "remove", "1", *where).code == 0
    assert "There is no note 1" in refused("note", "remove", "1", *where)


def test_what_is_no_note_is_one_sentence(tmp_path: Path) -> None:
    assert "holds no data yet" in refused("note", "add", "x", "--data", tmp_path / "none")
    assert "such as 2026-11-23" in refused("note", "add", "x", "--at", "soon", "--data", tmp_path, code=2)
    where = ("--data", filled(tmp_path))
    assert "1 to 200 characters" in refused("note", "add", "  ", *where)
