"""How the program says that it is called."""

import sys
from pathlib import Path

import pytest

from gpuledger.invoked import callable_here, program
from tests.gpuledger.said import refused, said


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


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("job", "--data", ".run"), "`gpuledger findings --data .run`"),
        (("job", "--data=my data"), "`gpuledger findings --data 'my data'`"),
        (
            ("job", "--hub", "https://h:1", "--config", "c.toml"),
            "`gpuledger findings --hub https://h:1 --config c.toml`",
        ),
        (("job", "7"), "`gpuledger findings`"),
        ((), "`gpuledger findings`"),
    ],
)
def test_a_command_to_copy_asks_where_this_one_asked(
    arguments: tuple[str, ...], shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["gpuledger"])
    assert callable_here("See `gpuledger findings`.", arguments) == f"See {shown}."


def test_what_a_command_says_itself_and_commands_that_ask_nobody_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["gpuledger"])
    for text in (
        "`gpuledger up --data b`",
        "`gpuledger job --data b`",
        "`gpuledger job --help`",
        "`gpuledger collect`",
    ):
        assert callable_here(text, ("--data", "a")) == text


def test_refusals_name_the_data_that_was_asked(tmp_path: Path) -> None:
    assert said("demo", "--nodes", 1, "--gpus", 1, "--days", 1, "--data", tmp_path, "--no-serve").code == 0
    assert f"findings --data {tmp_path}`" in refused("explain", "99999", "--data", tmp_path)
