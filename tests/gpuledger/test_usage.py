"""Wrong usage: one sentence, where to look, exit code 2; and the codes of what was asked for."""

from pathlib import Path

import pytest

from gpuledger import __version__
from gpuledger.demo.settings import DemoSettings
from tests.gpuledger.said import refused, said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("jbs",), "No such command 'jbs'; see `gpuledger --help`."),
        (("jobs", "--limit", "x"), "Invalid value for '--limit': 'x' is not a valid whole number; see `gpuledger"),
        (("jobs", "--limt", "3"), "No such option '--limt'. "),
        (("explain",), "Missing argument 'FINDING'; see `gpuledger explain --help`."),
        (("token", "add"), "Missing argument 'NAME'; see `gpuledger token add --help`."),
        (("report", "--format", "pdf2"), "Invalid value for '--format': 'pdf2' is not one of "),
        (("demo", "--nodes", "0"), "demo: nodes must be between 1 and 2000, not 0"),
        (("demo", "--interval", "7"), "demo: interval must be 5, 6, 10, 12, 15, 20, 30 or 60 seconds, not 7"),
    ],
)
def test_it_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    assert refused(*arguments, code=2).startswith(sentence)


def test_alone_it_says_what_there_is() -> None:
    found = said()
    assert (found.code, found.out) == (2, "")
    assert "findings" in found.err


def test_help_and_version_are_no_error() -> None:
    assert said("--version") == (0, f"gpuledger, version {__version__}\n", "")
    assert said("job", "--help").code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("jobs", "--from", "tomorrow"), "tomorrow"),
        (("report", "--scope", "team:a"), "The scope 'team:a' is not known: it is cluster, account:NAME or user:NAME."),
        (("report", "--week", "48"), "'48' is not a week: write it as 2026-W48."),
        (("job", "12345"), "No run '12345' is known here; ids are such as 123, 123_4, 123+1 or cluster:123."),
        (("explain", "77"), "There is no finding 77; `gpuledger findings --data "),
    ],
)
def test_what_is_not_there_is_said_by_the_same_sentence_as_the_api(
    arguments: tuple[str, ...], sentence: str, small_store: Path
) -> None:
    assert sentence in refused(*arguments, "--data", small_store)


@pytest.fixture(scope="module")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("store")
    small = DemoSettings(nodes=1, gpus=1, days=1)
    assert said(
        "demo", "--nodes", small.nodes, "--gpus", small.gpus, "--days", small.days, "--data", data, "--no-serve"
    )
    return data
