"""The Job page on links and cores: lines with their units, and reasons where there is none."""

from collections.abc import Callable

import pytest

from analytics.wording import format_cores, format_mib_per_s
from dashboard.multiples import CORES
from store.database import Cursor
from tests.dashboard.pages import Pages
from tests.factories.ledger import HOUR, MINUTE, T0, Ledger


def traces(pages: Pages, address: str) -> dict[str, dict]:
    figure = pages.get(address).charts()["job-metrics"]["figure"]
    return {trace["name"]: trace for trace in figure["data"] if trace.get("name")}


@pytest.fixture
def job(ledger: Ledger, cur: Cursor) -> int:
    nodes = [ledger.node("n1"), ledger.node("n2")]
    run = ledger.run("301", alloc_cpus=24, node_list="n[1-2]")
    for node in nodes:
        gpu = ledger.gpu(node)
        ledger.hold(run, gpu)
        ledger.rows(gpu, run, T0, T0 + HOUR, util_pct=900, pcie_rx_mib=20_000, pcie_tx_mib=10)
        times = {"from_ms": T0, "to_ms": T0 + HOUR}
        ledger.put("null_reason", gpu_key=gpu, metric="nvlink_rx_mib", reason="not_supported", **times)
        for minute in range(60):
            cpu = {"span_ms": MINUTE, "cpu_ms": node * 3 * MINUTE, "mem_max_mib": 100}
            ledger.put("host_minute", minute_ms=T0 + minute * MINUTE, node_key=node, run_key=run, **cpu)
    ledger.save(cur)
    return run


def test_links_are_drawn_by_the_second(pages: Pages, job: int) -> None:
    drawn = traces(pages, "/jobs/301")
    assert drawn["PCIe, received"]["customdata"][10] == "2.1 GB/s (lowest 2.1 GB/s, n1:0)"
    assert drawn["PCIe, sent"]["customdata"][10].startswith("1 MB/s")


def test_cores_are_a_line_a_node_against_those_allocated(pages: Pages, job: int) -> None:
    page = pages.get("/jobs/301")
    drawn = traces(pages, "/jobs/301")
    assert drawn[CORES.title]["customdata"][10] == "4.5 cores (lowest 3 cores, n1)"
    assert {"n1", "n2", "n1:0", "n2:0"} <= drawn.keys()
    axes = page.charts()["job-metrics"]["figure"]["layout"]
    assert any("12 cores" in (axis.get("ticktext") or ()) for name, axis in axes.items() if name.startswith("yaxis"))
    assert "CPU: 12 cores allocated on each node." in page.text()


def test_what_is_not_measured_is_named_with_its_reason(pages: Pages, job: int) -> None:
    (named,) = (one for one in pages.get("/jobs/301").walk() if one.get("id") == "not-measured")
    why = {one["children"]: one["data-tip"] for one in pages.get("/jobs/301").having("data-tip")}
    assert why["NVLink, received"] == "the driver or device does not offer this reading"
    assert why["Temperature"] == "no reading of it has arrived"
    assert named["children"][0] == "Not measured here: "


def test_cores_that_nobody_counted_have_a_reason(pages: Pages, ledger: Ledger, cur: Cursor) -> None:
    run, gpu = ledger.run("302"), ledger.gpu(ledger.node())
    ledger.hold(run, gpu)
    ledger.rows(gpu, run, T0, T0 + HOUR, util_pct=900)
    ledger.save(cur)
    why = {one["children"]: one["data-tip"] for one in pages.get("/jobs/302").having("data-tip")}
    assert why[CORES.title] == "no control group that counts CPU time was read on its nodes"


def test_words() -> None:
    assert [format_cores(value) for value in (None, 0.0, 0.44, 1.0, 9.9, 11.6)] == [
        "—", "0 cores", "0.4 cores", "1 core", "9.9 cores", "12 cores",
    ]  # fmt: skip
    assert [format_mib_per_s(value) for value in (None, 0.0, 600.0, 1430.0, 52_000.0)] == [
        "—", "0 MB/s", "629 MB/s", "1.5 GB/s", "55 GB/s",
    ]  # fmt: skip


def test_what_programs_get_is_more_than_the_first_page(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    links = [link for link in pages.get("/jobs?range=7d&user=ann").links() if link.startswith("/api/v1/jobs")]
    assert any("format=csv" in link for link in links)
    assert any("user=ann" in link and "limit=1000" in link for link in links)
