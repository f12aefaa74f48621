"""Other stores are started, take values and are ended; what they keep of them is counted."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers.child import PeerMissing, installed, version
from benchmarks.peers.pages import Pages
from benchmarks.peers.prometheus import Blocks, Prometheus
from benchmarks.peers.series import Series, influx_lines, json_lines, open_metrics
from benchmarks.peers.victoria import VictoriaMetrics

FROM_MS = 1_790_035_200_000
needs_victoria = pytest.mark.skipif(not installed("victoria-metrics"), reason="victoria-metrics is not installed")
needs_prometheus = pytest.mark.skipif(
    not (installed("prometheus") and installed("promtool")), reason="prometheus is not installed"
)


def series(metric: str, values: list[int], per_unit: int = 1) -> Series:
    times = FROM_MS + 10_000 * np.arange(len(values))
    return Series(
        metric=metric, labels={"node": "n1", "gpu": "0"}, ts_ms=times, scaled=np.array(values), per_unit=per_unit
    )


def test_scaled_integers_become_their_own_decimals() -> None:
    power = series("power_w", [1, 7003, 65000], per_unit=10)
    assert json.loads(json_lines([power]))["values"] == [0.1, 700.3, 6500.0]
    assert influx_lines("gpu", [power, series("temp_c", [40, 41, 42])]).splitlines()[1] == (
        b"gpu,node=n1,gpu=0 power_w=700.3,temp_c=41 1790035210000000000"
    )
    assert "".join(open_metrics([power])).splitlines()[1] == 'power_w{node="n1",gpu="0"} 0.1 1790035200.0'


@needs_victoria
def test_victoriametrics_takes_both_forms_and_says_how_much_it_keeps() -> None:
    with VictoriaMetrics() as store:
        pid, folder = store._process.pid, store.folder
        store.import_json(json_lines([series("power_w", [10, 20, 30], per_unit=10)]))
        store.write_influx(influx_lines("gpu", [series("temp_c", [40, 41, 42])]))
        store.settle()
        assert store.samples() == 6
        asked = f"/api/v1/query_range?query=power_w&start={FROM_MS // 1000}&end={FROM_MS // 1000 + 20}&step=10"
        [found] = json.loads(store.ask(asked))["data"]["result"]
        assert [value for _, value in found["values"]] == ["1", "2", "3"]
        assert store.data_bytes() > 0
        assert store.cpu_s() > 0
    assert not Path(f"/proc/{pid}").exists()
    assert not folder.exists()


@needs_prometheus
def test_prometheus_scrapes_every_page() -> None:
    with Pages(lambda path: f'power_w{{gpu="0"}} {len(path)}\n'.encode()) as pages:
        targets = {"n1": (pages.address, "/n1"), "n22": (pages.address, "/n22")}
        with Prometheus(targets, interval_s=0.2) as store:
            store.until(lambda: store.samples() >= 12 and pages.served >= 4, 20, "scrape")
            found = json.loads(store.ask("/api/v1/query?query=power_w"))["data"]["result"]
            assert {each["metric"]["instance"]: each["value"][1] for each in found} == {"n1": "3", "n22": "4"}


@needs_prometheus
def test_promtool_writes_blocks() -> None:
    blocks = Blocks.of([series("power_w", list(range(500)), per_unit=10), series("temp_c", [40] * 500)])
    assert blocks.chunk_bytes > 500
    assert blocks.index_bytes > 0


def test_a_program_that_is_not_there_is_named_with_the_next_step() -> None:
    class Absent(VictoriaMetrics):
        program = "no-such-store"

    with pytest.raises(PeerMissing, match="apt-get install victoria-metrics"), Absent():
        pass


@pytest.mark.skipif(not installed("dpkg-query"), reason="this is not Debian")
def test_versions_are_those_of_the_packages() -> None:
    assert version("dpkg")[0].isdigit()
    assert version("no-such-package") == "unknown"
