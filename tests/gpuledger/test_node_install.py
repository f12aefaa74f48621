"""The plain install of a compute node: its commands work, the hub's say in a sentence what is missing."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gpuledger.node_install import ROOT


def on_a_node(*arguments: object) -> Any:
    program = [sys.executable, "-m", "tests.gpuledger.node_install", *map(str, arguments)]
    return subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_every_command_is_listed() -> None:
    ended = on_a_node("--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert all(word in ended.stdout for word in ("collect", "serve", "token", "doctor"))


@pytest.mark.parametrize(
    "command",
    [
        *("serve --port 0", "up --port 0", "demo --no-serve", "demo --port 0", "token add x", "token list"),
        *("jobs", "job 1", "nodes", "report"),
    ],
)
def test_what_needs_the_hub_says_how_to_install_it(command: str, tmp_path: Path) -> None:
    (tmp_path / "gpuledger.duckdb").touch()
    ended = on_a_node(*command.split(), "--data", tmp_path)
    assert (ended.returncode, ended.stdout.partition("Nothing to record")[0]) == (1, "")
    assert ended.stderr.strip().splitlines()[-1].startswith("gpuledger: This is a node's installation, which lacks ")
    assert "[hub]'" in ended.stderr
    assert "Traceback" not in ended.stderr
