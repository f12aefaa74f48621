"""What a hub and an agent refuse before they begin: one sentence with the next step."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.database import Database
from tests.e2e.ledger import write_config
from tests.gpuledger.said import refused, said

pytestmark = pytest.mark.usefixtures("in_time")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def taken_port() -> Iterator[int]:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as door:
        yield int(door.getsockname()[1])


@pytest.mark.parametrize(
    "command", [("serve", "--port", 0), ("report",), ("jobs",), ("job", 1), ("explain", 1), ("nodes",)]
)
def test_a_directory_that_another_process_fills_is_left_alone(command: tuple[object, ...], data: Path) -> None:
    with Database.open(data, synthetic=False):
        assert f"in use by process {os.getpid()}; stop it first" in refused(*command, "--data", data)


@pytest.mark.parametrize("more", [("--port", 0), ("--no-serve",)])
def test_a_synthetic_cluster_is_not_mixed_with_another(more: tuple[object, ...], data: Path) -> None:
    assert said("demo", "--nodes", 1, "--gpus", 1, "--days", 1, "--data", data, "--no-serve").code == 0
    assert refused("demo", "--nodes", 2, "--data", data, *more) == (
        f"{data / 'demo'} holds a synthetic cluster with other settings; choose another --data DIR or delete it."
    )


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_taken_port_is_named(command: str, data: Path, taken_port: int) -> None:
    assert refused(command, "--data", data, "--port", taken_port) == (
        f"Port {taken_port} on 127.0.0.1 cannot be opened (Address already in use); choose another with --port."
    )
    assert not data.exists()


@pytest.mark.parametrize("content", [None, "", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_certificate_that_is_none_is_named(content: str | None, tmp_path: Path, data: Path) -> None:
    cert = tmp_path / "cert.pem"
    if content is not None:
        cert.write_text(content)
    config = write_config(tmp_path / "config.toml", hub={"tls_cert": str(cert), "tls_key": str(cert)})
    for command in (("serve", "--port", 0, "--data", data, "--config", config), ("config", "check", config)):
        found = said(*command)
        assert (found.code in {1, 2}, found.err.count("\n")) == (True, 1), found
        assert f"TLS cannot be set up with hub.tls_cert {cert}" in found.err
    assert not data.exists()


def test_without_tls_only_this_machine_is_served(data: Path) -> None:
    assert refused("serve", "--data", data, "--port", 0, "--host", "0.0.0.0") == (
        "0.0.0.0 is not a loopback address and there is no TLS: set hub.tls_cert and hub.tls_key, or listen on "
        "127.0.0.1 behind your site's web server."
    )
    assert not data.exists()


@pytest.mark.parametrize("command", [("serve", "--port", 0), ("demo", "--port", 0), ("token", "add", "n1")])
def test_a_directory_that_cannot_be_made_is_named(command: tuple[object, ...], tmp_path: Path) -> None:
    data = tmp_path / "file" / "data"
    data.parent.write_text("")
    sentence = refused(*command, "--data", data)
    assert sentence.startswith(f"{data} cannot be used (Not a directory); ")
    assert sentence.endswith((" choose another directory.", " name another directory with --data."))


def test_a_fill_of_a_directory_that_cannot_be_made_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said_so = refused("demo", "--no-serve", "--data", tmp_path / "file")
    assert said_so == f"{tmp_path / 'file' / 'demo'} cannot be used (Not a directory); choose another directory."


def test_a_spool_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    config = tmp_path / "config.toml"
    config.write_text(f'[collector]\nspool_dir = "{tmp_path / "file" / "spool"}"\nslurm = "no"\n')
    assert refused("collect", "--config", config) == (
        f"the spool {tmp_path / 'file' / 'spool'} cannot be used: Not a directory; set collector.spool_dir to a "
        "directory that the agent's user may write"
    )


def test_an_address_that_is_none_is_a_mistake_in_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[collector]\nhub = "hub:8050"\nspool_dir = "{tmp_path / "spool"}"\nslurm = "no"\n')
    assert refused("collect", "--config", config, code=2) == (
        "collector.hub 'hub:8050' is no address: write one such as https://hub.example.org:8050."
    )
