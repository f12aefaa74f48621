"""What the benchmark of the way from node to store prints, and that no row is lost or doubled; never its times."""

import json

import pytest

from benchmarks.ingest.measure import main
from benchmarks.ingest.peers import compare
from benchmarks.load.nodes import METRICS, Load, Nodes
from store.columns import Rows
from store.segment import decode, encode

FIGURES = {
    *("offered_rows_per_s", "cpu_pct_core", "cpu_us_per_row", "us_http", "us_decode", "us_insert", "us_seal"),
    *("us_rollup", "max_rows_per_s", "vs_victoriametrics", "vs_prometheus"),
}
SMALL = Load(nodes=5, gpus=2, segment_s=4, segments=2, from_ms=1_790_035_200_000, told_by=3)


def test_it_prints_every_figure_and_has_every_row_once(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--json", "--quick", "--no-peers", "--nodes", "6"])  # it compares what was sent with what is there itself
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["name", "machine", "sizes", "figures", "peers"]
    figures = found["figures"]
    assert figures.keys() >= FIGURES
    assert figures["offered_rows_per_s"] == 6 * 8
    stages = sum(figures[name] for name in figures if name.startswith("us_"))
    assert stages == pytest.approx(figures["cpu_us_per_row"], abs=0.01)
    assert all(figures[f"us_{name}"] > 0 for name in ("decode", "insert", "seal", "rollup"))
    assert figures["vs_prometheus"] is None
    assert found["peers"] == {}


def test_nodes_say_what_an_agent_says() -> None:
    told = [segment for _, segment in Nodes(SMALL).in_order()]
    assert len({segment.name for segment in told}) == len(told) == SMALL.nodes * SMALL.segments
    assert len({device.uuid for segment in told for device in segment.devices}) == SMALL.nodes * SMALL.gpus
    assert max(int(Rows(segment).ts_ms.max()) for segment in told) <= SMALL.last_ms
    for segment in told:
        rows = Rows(decode(encode(segment)))
        assert rows.unknown == []
        assert segment.first_ms < rows.ts_ms.min() <= rows.ts_ms.max() <= segment.last_ms
        assert rows.metrics.keys() >= set(METRICS)
    assert any(segment.holdings for segment in told)


def test_peers_take_the_same_values() -> None:
    for name, fed in compare(2, SMALL, scrapes=1).items():
        assert name.partition(" ")[0] in {"victoria-metrics", "prometheus"}
        assert fed.values == len(METRICS) + 9
        assert fed.rows > 0
