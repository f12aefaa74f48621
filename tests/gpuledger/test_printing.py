"""What reaches a terminal: aligned, and nothing that a job's name could do to it."""

import io
import sys

import pytest

from gpuledger.printing import as_json, emit, table, visible


def test_columns_are_aligned_and_numbers_to_the_right() -> None:
    columns = (("name", lambda row: row["name"]), ("GPU-h", lambda row: row["hours"]))
    rows = [{"name": "a", "hours": "1,204"}, {"name": "longer", "hours": "3"}]
    assert table(rows, columns, frozenset({"GPU-h"})).splitlines() == [
        "name    GPU-h",
        "a       1,204",
        "longer      3",
    ]


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\nb", "\x07", "\u202egnp.exe", "\x9b31m"])
def test_control_characters_do_not_pass(name: str) -> None:
    assert visible(name).isprintable()
    assert "\n" not in table([{"name": name}], (("name", lambda row: row["name"]),)).removeprefix("name\n")


def test_letters_of_all_scripts_pass() -> None:
    assert visible("Gruppe-Ä 実験 عمل") == "Gruppe-Ä 実験 عمل"
    assert "実験" in as_json({"name": "実験"})


def test_a_terminal_that_cannot_show_a_letter_gets_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    emit("3 × H100")
    out.flush()
    assert out.buffer.getvalue() == b"3 ? H100\n"  # type: ignore[attr-defined]
