"""Commands away from the hub's machine: the same answers from --hub URL, or from the configured address."""

import contextlib
import http.server
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.database import Database
from tests.e2e.ledger import Running, write_config
from tests.factories.ledger import T0, Ledger
from tests.gpuledger.said import refused, said
from tests.gpuledger.test_node_install import on_a_node

NOBODY = 65534
COMMANDS = (
    ("job", "101"),
    ("jobs", "--from", "2026-11-23"),
    ("jobs", "--from", "2026-11-23", "--csv"),
    ("nodes",),
    ("recommend",),
)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A hub over a small store."""
    data = tmp_path_factory.mktemp("hub")
    with Database.open(data) as database, database.cursor() as cursor:
        ledger = Ledger()
        run, gpu = ledger.run("101"), ledger.gpu(ledger.node("n1"))
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, T0, active=60, util_pct=70)
        ledger.save(cursor)
    running = Running(data / "log", "serve", "--data", data, "--port", 0)
    assert running.address
    yield running
    running.end()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_hub_answers_as_its_directory_does(hub: Running, command: tuple[str, ...]) -> None:
    there = said(*command, "--data", hub.log.parent)
    assert there.code == 0
    assert "101" in there.out or "n1" in there.out or "Nothing to change" in there.out
    assert said(*command, "--hub", hub.address + "/") == there


def test_a_compute_node_can_ask(hub: Running) -> None:
    """`gpuledger job` is meant for the machine where the job was submitted: the plain install, no data directory."""
    ended = on_a_node("job", "101", "--hub", hub.address)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "101" in ended.stdout


@pytest.mark.parametrize("key", ["site", "collector"])
def test_without_data_here_the_configured_address_is_asked(hub: Running, key: str, tmp_path: Path) -> None:
    own = {"site": {"url": hub.address}} if key == "site" else {"collector": {"hub": hub.address}}
    config = write_config(tmp_path / "config.toml", hub={"data": str(tmp_path / "none")}, **own)
    assert "101" in said("job", "101", "--config", config).out


def test_a_named_directory_is_not_replaced_by_an_address(hub: Running, tmp_path: Path) -> None:
    config = write_config(tmp_path / "config.toml", site={"url": hub.address})
    assert "holds no data yet" in refused("jobs", "--config", config, "--data", tmp_path / "none")


@contextlib.contextmanager
def closed_directory() -> Iterator[Path]:
    """The hub's own directory, as everybody but its user sees it."""
    with tempfile.TemporaryDirectory() as data:  # mode 0700
        owner = os.geteuid()
        if owner == 0:
            os.seteuid(NOBODY)
        else:
            Path(data).chmod(0)
        try:
            yield Path(data, "inner")
        finally:
            os.seteuid(owner)
            Path(data).chmod(0o700)


def test_the_hubs_own_directory_is_closed_to_people(hub: Running) -> None:
    address = hub.address
    with closed_directory() as closed, tempfile.TemporaryDirectory() as own:
        assert "ask its hub with --hub URL" in refused("jobs", "--data", closed)
        config = write_config(Path(own, "config.toml"), hub={"data": str(closed)}, site={"url": address})
        assert "101" in said("job", "101", "--config", config).out


def test_two_places_are_refused(tmp_path: Path) -> None:
    assert "leave one of them out" in refused("jobs", "--hub", "http://127.0.0.1:1", "--data", tmp_path, code=2)


@pytest.mark.parametrize("address", ["127.0.0.1:8050", "ftp://hub", "http://", "http://hub:port", "http://[::1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert "write one such as https://" in refused("jobs", "--hub", address, code=2)


def test_nobody_there_is_one_sentence() -> None:
    assert "name another with --hub URL" in refused("jobs", "--hub", "http://127.0.0.1:1")


def test_another_server_is_one_sentence() -> None:
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>Sign in</html>")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        sentence = refused("jobs", "--hub", f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
        thread.join()
    assert "no GPU Ledger hub" in sentence


def test_a_report_links_to_the_hub_that_made_it(hub: Running) -> None:
    made = said("report", "--hub", hub.address, "--week", "2026-W48", "--format", "html").out
    assert f'href="{hub.address}/jobs?' in made
    assert ":8050" not in made
