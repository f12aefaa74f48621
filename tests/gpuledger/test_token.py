"""`gpuledger token` beside a running hub: through its socket file, and by nobody who comes through TCP."""

import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.ledger import Running
from tests.gpuledger.said import refused, said


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "log", "serve", "--data", tmp_path, "--port", 0)
    assert running.address
    yield running
    running.end()


def status(hub: Running, method: str, target: str, token: str = "") -> int:
    address = urlsplit(hub.address)
    connection = http.client.HTTPConnection(address.hostname or "", address.port)
    try:
        connection.request(method, target, b"", {"Authorization": f"Bearer {token}"} if token else {})
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_token_is_made_listed_and_revoked_while_the_hub_runs(hub: Running) -> None:
    where = ("--data", hub.log.parent)
    assert said("token", "list", *where).out.startswith("There is no token yet")
    token = said("token", "add", "nodes", *where).out.strip()
    assert token.startswith("gpl_")
    assert status(hub, "POST", "/api/v1/segments", token) == 400  # let in; nothing is no segment
    assert said("token", "list", *where).out.startswith("nodes: made ")
    assert "There is a token nodes already" in refused("token", "add", "nodes", *where)
    assert "is no name for a token" in refused("token", "add", "a b", *where)
    assert said("token", "revoke", "nodes", *where).code == 0
    assert status(hub, "POST", "/api/v1/segments", token) == 401
    assert "There is no token nodes to revoke" in refused("token", "revoke", "nodes", *where)


def test_nobody_has_a_token_through_the_network(hub: Running) -> None:
    for method, target in (("GET", "/api/v1/tokens"), ("POST", "/api/v1/tokens"), ("DELETE", "/api/v1/tokens/nodes")):
        assert status(hub, method, target) == 403
