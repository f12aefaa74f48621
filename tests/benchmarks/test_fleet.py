"""What the benchmark of a hub under a whole fleet prints, and that every page answers meanwhile; never its times."""

import json

import pytest

from benchmarks.fleet.measure import main
from benchmarks.fleet.pages import OPEN

FIGURES = {"nodes", "gpus", "rows_per_s", "cpu_pct_core", "lag_s", "page_p95_ms", "rss_mib"}


def test_it_prints_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--json", "--quick", "--nodes", "6"])  # it compares what was sent with what is there itself
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["name", "machine", "sizes", "figures", "peers"]
    figures = found["figures"]
    assert figures.keys() >= FIGURES
    assert (figures["nodes"], figures["gpus"]) == (6, 48)
    assert figures["lag_s"] > 0
    assert figures["rss_most_mib"] >= figures["rss_begin_mib"] > 0
    assert sum(name.startswith("page_refresh") for name in figures) == len(OPEN)
