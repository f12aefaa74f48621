"""Whatever a job is called and whatever is asked for, a command prints lines and asks for that."""

from pathlib import Path

import pytest

from gpuledger.printing import MAX_CELL, table
from store.database import Database
from tests.factories.ledger import T0, Ledger
from tests.gpuledger.said import refused, said

LONG = "x" * 10_000
NAMES = ("\x1b[31mred\x1b[0m\x07", "a\r\nb", "\u202egnp.exe", LONG)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with Database.open(tmp_path) as database, database.cursor() as cursor:
        ledger = Ledger()
        gpu = ledger.gpu(ledger.node("n1"))
        for number, name in enumerate(NAMES):
            run = ledger.run(str(101 + number), name=name, user_name=name, account=name, partition=name)
            ledger.hold(run, gpu)
            ledger.hour(gpu, run, T0, active=15, util_pct=70)
        ledger.save(cursor)
    return tmp_path


def test_no_name_writes_to_the_terminal_or_widens_the_table(data: Path) -> None:
    found = said("jobs", "--data", data, "--from", "2026-11-23")
    lines = found.out.splitlines()
    assert (found.code, len(lines)) == (0, 1 + len(NAMES))
    assert max(map(len, lines)) < 400
    assert all(line.isprintable() for line in lines)
    assert said("job", "101", "--data", data).out.replace("\n", "").isprintable()


def test_a_long_cell_is_cut_where_people_read_it() -> None:
    assert (
        table([{"name": LONG}], [("name", lambda row: str(row["name"]))]).splitlines()[1] == "x" * (MAX_CELL - 1) + "…"
    )


@pytest.mark.parametrize("asked", ["101?run=1", "../jobs", "#", "%31%30%31", "101/../102"])
def test_a_job_id_is_asked_for_as_it_is(data: Path, asked: str) -> None:
    assert "No run " in refused("job", asked, "--data", data)
