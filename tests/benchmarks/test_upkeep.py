"""What the benchmark of upkeep prints; that its sums agree it checks by itself."""

import json

import pytest

from benchmarks.upkeep.measure import main


def test_it_prints_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--json", "--quick"])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["name", "machine", "sizes", "figures", "peers"]
    figures = found["figures"]
    names = ("late_node_hour", "late_fleet_hour", "day_dropped")
    assert {f"{name}_{unit}" for name in names for unit in ("ms", "cpu_ms")} < figures.keys()
    assert {
        f"rollup_{figure}_{every}" for figure in ("us_per_row", "pct_core", "wall_ms") for every in ("1s", "10s")
    } < (figures.keys())
    assert min(figures.values()) > 0
