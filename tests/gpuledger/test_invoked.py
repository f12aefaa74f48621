"""How the program says that it is called."""

import sys
from pathlib import Path

import pytest

from gpuledger.invoked import callable_here, program
from tests.gpuledger.said import refused


@pytest.mark.parametrize(
    ("called", "on_path", "shown"),
    [
        (".venv/bin/gpuledger", False, ".venv/bin/gpuledger"),
        ("/opt/gpuledger/bin/gpuledger", True, "gpuledger"),
        ("-c", False, "gpuledger"),
    ],
)
def test_a_command_to_copy_begins_with_what_a_shell_finds(
    called: str, on_path: bool, shown: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if on_path:
        (tmp_path / "gpuledger").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [called])
    assert program() == shown


def test_what_is_printed_can_be_copied_in_a_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [".venv/bin/gpuledger"])
    assert callable_here("See `gpuledger --help`.") == "See `.venv/bin/gpuledger --help`."
    data = tmp_path / "none"
    assert refused("jobs", "--data", data) == (
        f"{data} holds no data yet; start `.venv/bin/gpuledger up --data {data}`, "
        "or name another directory with --data."
    )
    assert "; see `.venv/bin/gpuledger jobs --help`." in refused("jobs", "--nothing", code=2)
