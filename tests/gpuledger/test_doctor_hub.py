"""What the doctor says of the hub: its token is tried, and the hub of --data is found."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from store.database import Database
from tests.e2e.ledger import Running, write_config
from tests.factories.ledger import Ledger
from tests.gpuledger.said import said
from tests.gpuledger.test_node_install import on_a_node

Doctor = Callable[..., str]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    """A hub and a token of it."""
    data = tmp_path_factory.mktemp("hub")
    token = said("token", "add", "nodes", "--data", data).out.strip()
    running = Running(data / "log", "serve", "--data", data, "--port", 0)
    assert running.address
    yield running, token
    running.end()


@pytest.fixture
def doctor(hub: tuple[Running, str], tmp_path: Path) -> Doctor:
    """Says what the doctor says on a node of that hub."""

    def examine(*more: object, **collector: object) -> str:
        chosen = {"hub": hub[0].address, "spool_dir": str(tmp_path), "slurm": "no"} | collector
        config = write_config(tmp_path / "config.toml", collector=chosen, hub={"data": str(tmp_path / "none")})
        return said("doctor", "--config", config, *more).out

    return examine


def test_a_good_token_is_tried(doctor: Doctor, hub: tuple[Running, str]) -> None:
    text = doctor(token=hub[1])
    assert "ok   token     the hub lets this node's token in\n" in text
    assert "ok   clock " in text


def test_a_wrong_or_missing_token_is_bad_and_has_a_fix(
    doctor: Doctor, hub: tuple[Running, str], tmp_path: Path
) -> None:
    fix = "make one at the hub, also while it runs, with `gpuledger token add NAME`"
    assert f"BAD  token     the hub does not know this node's token - {fix}" in doctor(token="wrong")
    assert f"BAD  token     no token is configured, so nothing can be delivered - {fix}" in doctor()
    assert "token cannot be read (" in doctor(token_file=str(tmp_path / "token"))
    (tmp_path / "token").write_text(hub[1] + "\n")
    assert "ok   token" in doctor(token_file=str(tmp_path / "token"))


def test_the_hub_of_the_named_directory_is_found_on_any_port(hub: tuple[Running, str], tmp_path: Path) -> None:
    config = write_config(tmp_path / "config.toml", collector={"spool_dir": str(tmp_path), "slurm": "no"})
    text = said("doctor", "--config", config, "--data", hub[0].log.parent).out
    assert f"ok   hub       the hub of {hub[0].log.parent} answers\n" in text
    assert "BAD  hub" not in text


def test_a_directory_that_is_not_there_is_not_called_writable(doctor: Doctor, tmp_path: Path) -> None:
    text = doctor(spool_dir=str(tmp_path / "spool"))
    assert f"note data      {tmp_path / 'none'} does not exist yet - make it" in text
    assert f"note spool     {tmp_path / 'spool'} does not exist yet - make it" in text


def test_a_node_is_not_asked_for_a_data_directory(tmp_path: Path) -> None:
    config = write_config(tmp_path / "config.toml", collector={"spool_dir": str(tmp_path), "slurm": "no"})
    ended = on_a_node("doctor", "--config", config)
    assert "ok   spool" in ended.stdout
    assert " data " not in ended.stdout
    assert ended.stderr == ""


def test_how_long_the_disk_lasts_is_said_as_on_health(tmp_path: Path) -> None:
    with Database.open(tmp_path / "data") as database, database.cursor() as cursor:
        ledger = Ledger()
        ledger.gpu(ledger.node("n1"))  # a week of a node
        ledger.save(cursor)
    running = Running(tmp_path / "log", "serve", "--data", tmp_path / "data", "--port", 0)
    try:
        sentence = running.json("/api/v1/health")["disk_sentence"]
        assert sentence.startswith("The disk lasts")
        config = write_config(tmp_path / "config.toml", collector={"spool_dir": str(tmp_path), "slurm": "no"})
        text = said("doctor", "--config", config, "--data", tmp_path / "data").out
        said_of_disk = next(line for line in text.splitlines() if line[5:].startswith("disk "))
        assert said_of_disk.split(maxsplit=2)[0] == "ok"
        assert "full days took" in said_of_disk
    finally:
        running.end()
