"""The page that `make bench` writes."""

from datetime import UTC, datetime

from benchmarks.__main__ import page

RESULT = {
    "name": "agent",
    "machine": {"cores": 2, "python": "3.11"},
    "sizes": {"gpus": 8},
    "figures": {"rss_mib": 29.5},
    "peers": {"nvitop 1.5": {"rss_mib": 54}},
}


def test_page_holds_figures_peers_machine_and_commit() -> None:
    text = page([RESULT], "abc1234", datetime(2026, 11, 30, 8, 5, tzinfo=UTC))
    assert "Commit abc1234, 2026-11-30 08:05 UTC." in text
    assert "## agent\n\ncores 2 · python 3.11\n\ngpus 8\n" in text
    assert "| rss_mib | 29.5 |" in text
    assert "Beside it, nvitop 1.5: rss_mib 54" in text
