"""The page that `make bench` writes."""

import pkgutil
from datetime import UTC, datetime

import pytest

import benchmarks
from benchmarks.__main__ import HEAD, SHARED, main, section, with_section
from benchmarks.targets import TARGETS

RESULT = {
    "name": "agent",
    "machine": {"cores": 2, "python": "3.11"},
    "sizes": {"gpus": 8},
    "figures": {"rss_mib": 29.5},
    "peers": {"nvitop 1.5": {"rss_mib": 54}},
}


WHEN = datetime(2026, 11, 30, 8, 5, tzinfo=UTC)


def test_a_section_holds_figures_targets_peers_machine_and_commit() -> None:
    text = section(RESULT, "abc1234", WHEN)
    assert text.startswith("## agent\n\nCommit abc1234, 2026-11-30 08:05 UTC. cores 2 · python 3.11\n\ngpus 8\n")
    assert "| rss_mib | 29.5 | <= 40 |" in text
    assert "Beside it, nvitop 1.5: rss_mib 54" in text


def test_a_benchmark_replaces_its_own_section_alone() -> None:
    page = ""
    for name, commit in (("ingest", "1"), ("agent", "2"), ("ingest", "3")):
        page = with_section(page, section({**RESULT, "name": name}, commit, WHEN))
    assert page.startswith(HEAD)
    assert [part.split()[0] for part in page.split("\n## ")[1:]] == ["agent", "ingest"]
    assert page.count("Commit ") == 2
    assert "Commit 2," in page
    assert "Commit 3," in page
    assert with_section(page, section({**RESULT, "name": "agent"}, "2", WHEN)) == page


def test_every_target_is_of_a_benchmark() -> None:
    names = {module.name for module in pkgutil.iter_modules(benchmarks.__path__)} - SHARED
    assert set(TARGETS) <= names


def test_a_name_that_is_none_is_told() -> None:
    with pytest.raises(SystemExit, match="There is no benchmark nothing; there are agent"):
        main(["nothing"])
