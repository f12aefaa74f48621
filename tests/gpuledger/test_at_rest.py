"""A directory at rest answers as its running hub does, and whoever asks is told where nothing answers."""

from pathlib import Path

import pytest

from store.database import Database
from tests.e2e.ledger import Running, write_config
from tests.factories.ledger import T0, Ledger
from tests.gpuledger.said import Said, said
from tests.gpuledger.test_ask_a_hub import COMMANDS

MORE = (("report", "--week", "2026-W48"), ("report", "--week", "2026-W48", "--format", "json"), ("jobs", "--json"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rest")
    with Database.open(folder) as database, database.cursor() as cursor:
        ledger = Ledger()
        run, gpu = ledger.run("101"), ledger.gpu(ledger.node("n1"))
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, T0, active=40, idle=20, util_pct=70)
        ledger.save(cursor)
    return folder


def test_running_and_at_rest_answer_alike(data: Path, tmp_path: Path) -> None:
    # Where none is configured, links in reports lead to the running hub.
    config = write_config(tmp_path / "config.toml", site={"url": "https://ledger.example.org"})
    where = ("--data", data, "--config", config)
    commands = [(*command, *where) for command in (*COMMANDS, *MORE)]
    before = [said(*command) for command in commands]
    assert [each.code for each in before] == [0] * len(commands)
    hub = Running(tmp_path / "log", "serve", *where, "--port", 0)
    try:
        assert hub.address
        for command, rest in zip(commands, before, strict=True):
            assert _without_times(said(*command)) == _without_times(rest)
        assert hub.stop() == 0
    finally:
        hub.end()
    assert [_without_times(said(*command)) for command in commands] == [_without_times(each) for each in before]


def _without_times(found: Said) -> Said:
    """Leaves out when a report was made."""
    return found._replace(out="\n".join(line for line in found.out.splitlines() if not line.startswith("Made ")))
