"""What the benchmark of the bytes at rest prints, and that its sums belong together."""

import json
import os

import pytest

from benchmarks.peers.child import installed
from benchmarks.storage.measure import main

RATIOS = ("vs_victoriametrics", "vs_victoriametrics_lossless", "vs_prometheus")


def test_it_prints_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--json", "--quick", "--nodes", "1", "--gpus", "2", "--hours", "3"])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["name", "machine", "sizes", "figures", "peers"]
    assert 0.99 * 2 * 1080 < found["sizes"]["rows"] <= 2 * 1080
    figures = found["figures"]
    assert 0 < figures["bytes_per_row"] < figures["bytes_per_row_before_merge"]
    assert figures["bytes_per_row"] < figures["bytes_per_row_lossless"]
    there = installed("victoria-metrics") and installed("promtool")
    assert there or os.environ.get("CI") != "true"
    assert [figures[name] is not None for name in RATIOS] == 2 * [installed("victoria-metrics")] + [
        installed("promtool")
    ]
    if there:
        victoria, prometheus = found["peers"].values()
        theirs = [
            victoria["catalogue_bytes_per_row"],
            victoria["lossless_bytes_per_row"],
            prometheus["catalogue_bytes_per_row"],
        ]
        ours = [figures["bytes_per_row"], figures["bytes_per_row_lossless"], figures["bytes_per_row"]]
        for name, our, their in zip(RATIOS, ours, theirs, strict=True):
            assert figures[name] == pytest.approx(our / their, abs=0.002)
