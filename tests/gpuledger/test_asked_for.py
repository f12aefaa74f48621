"""What is asked for and cannot be had: said in a sentence, never answered by something else."""

from pathlib import Path

import pytest

from gpuledger.source import Source
from store.database import Database
from tests.factories.footprints import footprint_run
from tests.factories.ledger import HOUR, T0, Ledger
from tests.gpuledger.said import refused, said


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one idle run of ann's in the account vision."""
    folder = tmp_path_factory.mktemp("store")
    with Database.open(folder) as database, database.cursor() as cursor:
        ledger = Ledger()
        run, gpu = ledger.run("101", account="vision"), ledger.gpu(ledger.node("n1"))
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, T0, idle=60, util_pct=0)
        ledger.finding(run)
        ledger.run("102", account="physics", end_ms=T0 + 2 * HOUR)
        ledger.save(cursor)
    return folder


@pytest.mark.parametrize("command", ["jobs", "findings", "recommend"])
@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)], ids=["text", "json", "csv"])
def test_a_name_that_nobody_bears_is_no_good_news(data: Path, command: str, form: tuple[str, ...]) -> None:
    sentence = "No account vission is known here; did you mean vision?"
    assert refused(command, "--data", data, "--account", "vission", *form) == sentence


@pytest.mark.parametrize(
    ("scope", "sentence"),
    [
        ("account:vison", "No account vison is known here; did you mean vision?"),
        ("user:zoe", "No user zoe is known here; known are ann."),
    ],
)
def test_no_report_is_made_for_nobody(data: Path, scope: str, sentence: str) -> None:
    assert refused("report", "--data", data, "--scope", scope) == sentence


def test_a_name_that_is_known_and_held_nothing_is_no_error(data: Path) -> None:
    assert said("jobs", "--data", data, "--account", "physics") == (0, "No job held a GPU in this period.\n", "")


def test_a_report_takes_the_form_of_its_file(data: Path, tmp_path: Path) -> None:
    ask = ("report", "--data", data, "--week", "2026-W48", "-o")
    assert "no .pdf file" in refused(*ask, tmp_path / "x.pdf", code=2)
    assert not (tmp_path / "x.pdf").exists()
    for name, begins in (
        ("x.HTML", "<!doctype html>"),
        ("x.json", "{"),
        ("x.txt", "GPU cluster"),
        ("x", "GPU cluster"),
    ):
        assert said(*ask, tmp_path / name).code == 0
        assert (tmp_path / name).read_text().strip().lower().startswith(begins.lower()), name


def test_two_forms_are_refused(data: Path) -> None:
    assert "leave one of them out" in refused("jobs", "--data", data, "--json", "--csv", code=2)


def test_a_word_is_no_number() -> None:
    assert "'xyz' is not a valid whole number" in refused("explain", "xyz", code=2)
    assert "'x' is not a valid whole number" in refused("serve", "--port", "x", code=2)


def test_a_command_to_copy_asks_the_same_directory(data: Path) -> None:
    text = said("job", "101", "--data", data).out
    command = text.partition("(gpuledger ")[2].partition(")")[0]
    assert command == f"explain 1 --data {data}"
    assert said(*command.split()).code == 0


def test_where_the_configuration_says_whom_to_ask_a_command_needs_no_more() -> None:
    assert Source(data=Path("/var/lib/gpuledger"), hub="http://127.0.0.1:8050").option == ""
    assert Source(hub="http://hub:8050").option == " --hub http://hub:8050"
    assert Source(data=Path("my data")).option == " --data 'my data'"


@pytest.mark.parametrize("command", ["findings", "recommend"])
def test_what_is_not_judged_yet_is_not_nothing(tmp_path: Path, command: str) -> None:
    with Database.open(tmp_path) as database, database.cursor() as cursor:
        ledger = Ledger()
        ledger.gpu(ledger.node("n1"))
        for _ in range(30):
            footprint_run(ledger, ledger.run(end_ms=T0 + HOUR), judged=False)
        ledger.save(cursor)
    found = said(command, "--data", tmp_path)
    assert (found.code, found.out) == (0, "Not known yet: what came in is still being judged.\n")
    assert "Still loading: 30 runs to be judged." in found.err
