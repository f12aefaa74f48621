"""What the benchmark of the daemon prints, not how little it took."""

import json

import pytest

from benchmarks.agent.measure import main
from tests.fakenvml.building import obstacle

FIGURES = [
    *("cpu_pct_core_10s", "cpu_pct_core_1s", "rss_mib", "values_per_tick", "cpu_us_per_value", "leanest_peer_ratio"),
    "floor_ratio",
]


def test_it_prints_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    if reason := obstacle():
        pytest.skip(reason)
    main(["--json", "--gpus", "2", "--seconds-10s", "1", "--seconds-1s", "3", "--warm-s", "1"])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["name", "machine", "sizes", "figures", "peers"]
    assert list(found["figures"]) == FIGURES
    assert found["figures"]["rss_mib"] > 10
    assert found["sizes"]["us_a_call_in_c"] > 0
