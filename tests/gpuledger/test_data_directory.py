"""What commands and hubs do to a data directory: looking makes nothing, and a living hub keeps its door."""

import socket
from pathlib import Path

import pytest

from gpuledger.errors import Refused
from gpuledger.server import listen_unix
from gpuledger.stores import holds_real_data
from store.database import Database
from tests.factories.ledger import Ledger
from tests.gpuledger.said import refused, said


@pytest.mark.parametrize("command", [("token", "list"), ("token", "revoke", "n1"), ("jobs",), ("report",), ("nodes",)])
def test_what_only_looks_makes_nothing(command: tuple[str, ...], tmp_path: Path) -> None:
    data = tmp_path / "data"
    refused(*command, "--data", data)
    assert not data.exists()
    data.mkdir()
    refused(*command, "--data", data)
    assert list(data.iterdir()) == []


def test_tokens_alone_are_no_recorded_data(tmp_path: Path) -> None:
    assert said("token", "add", "nodes", "--data", tmp_path).code == 0
    assert not holds_real_data(tmp_path)
    with Database.open(tmp_path) as database, database.cursor() as cursor:
        ledger = Ledger()
        ledger.node("n1")
        ledger.save(cursor)
    assert holds_real_data(tmp_path)


def test_a_store_in_use_is_taken_for_one_with_data(tmp_path: Path) -> None:
    with Database.open(tmp_path):
        assert holds_real_data(tmp_path)


def test_an_empty_store_does_not_hide_the_synthetic_one(tmp_path: Path) -> None:
    assert said("token", "add", "nodes", "--data", tmp_path).code == 0
    with Database.open(tmp_path / "demo", synthetic=True) as database, database.cursor() as cursor:
        ledger = Ledger()
        ledger.node("synthetic-1")
        ledger.save(cursor)
    assert "synthetic-1" in said("nodes", "--data", tmp_path).out


def test_a_list_of_no_tokens_says_so(tmp_path: Path) -> None:
    Database.open(tmp_path).close()
    assert said("token", "list", "--data", tmp_path).out == (
        f"There is no token yet; `gpuledger token add NAME --data {tmp_path}` makes one.\n"
    )


def test_a_socket_on_which_something_answers_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "hub.sock"
    with listen_unix(path) as door:
        door.listen()
        with pytest.raises(Refused, match=r"answers at .*hub\.sock already; stop it first"):
            listen_unix(path)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))  # still the first one's


def test_a_socket_that_a_killed_hub_left_is_replaced(tmp_path: Path) -> None:
    listen_unix(tmp_path / "hub.sock").close()
    listen_unix(tmp_path / "hub.sock").close()
