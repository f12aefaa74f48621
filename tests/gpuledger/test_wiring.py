"""What pages are handed."""

import sys
from pathlib import Path

import pytest

from gpuledger.wiring import program


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
