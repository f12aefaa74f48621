"""What the benchmark of the queries prints, not how fast it was."""

import json

import pytest

from benchmarks.queries import main

FIGURES = {"gpus", "runs", "worst_query", "worst_median_ms", "worst_max_ms", "raw_run_hot_ms", "me_ms", "page_job_ms"}


def test_it_prints_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--nodes", "2", "--gpus", "2", "--days", "1", "--interval-s", "60", "--repeats", "1"]
    main(["--json", "--quick", *sizes])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["name", "machine", "sizes", "figures", "peers"]
    assert found["sizes"] == {"nodes": 2, "gpus": 2, "days": 1, "interval_s": 60, "repeats": 1}
    figures = found["figures"]
    assert figures.keys() >= FIGURES
    assert figures["gpus"] == 4
    assert figures["runs"] > 0
    assert all(figures[name] > 0 for name in figures if name.endswith("_ms"))
    assert figures["worst_max_ms"] >= figures["worst_median_ms"] == figures[f"{figures['worst_query']}_ms"]
