"""The node page: each GPU's day with who held it as links, and what the node is made of."""

from collections.abc import Callable

from dashboard.components.node_day import MOST_GPUS, MOST_HOLDERS
from store.database import Cursor
from tests.dashboard.conftest import NOW
from tests.dashboard.pages import Pages, Shown
from tests.factories.ledger import HOUR, MINUTE, Ledger


def lanes(shown: Shown) -> list[Shown]:
    return [
        Shown(one["children"]) for one in shown.walk() if one.get("className") == "day-row" and one["_type"] == "Li"
    ]


def test_now_and_before_are_two_columns(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    text = pages.get("/nodes/n1").text()
    assert "Held by now" in text
    assert "Before, newest first" in text


def test_who_held_a_gpu_stands_beneath_its_lane_as_a_link(pages: Pages, ledger: Ledger, cur: Cursor) -> None:
    gpu = ledger.gpu(ledger.node("n1", last_ms=NOW))
    first = ledger.run("7", start_ms=NOW - 12 * HOUR, end_ms=NOW - 6 * HOUR)
    second = ledger.run("8", start_ms=NOW - 6 * HOUR, end_ms=None)
    for run in (first, second):
        ledger.hold(run, gpu)
    for hour in range(12):
        ledger.hour(gpu, first if hour < 6 else second, NOW - (12 - hour) * HOUR, active=30, idle=30)
    ledger.save(cur)
    shown = pages.get("/nodes/n1")
    assert shown.failed() == []
    (lane,) = lanes(shown)
    assert lane.links() == ["/jobs/c1%3A7", "/jobs/c1%3A8"]
    assert [one["style"] for one in lane.walk() if one["_type"] == "Li"] == [
        {"left": "50.00%", "width": "25.00%"},
        {"left": "75.00%", "width": "25.00%"},
    ]
    parts = [one for one in lane.walk() if one["_type"] == "I"]
    assert sum(part["style"]["flexGrow"] for part in parts) == 24 * HOUR
    assert "active for 30 min" in str([part["title"] for part in parts])


def test_what_is_not_drawn_is_counted(pages: Pages, ledger: Ledger, cur: Cursor) -> None:
    node = ledger.node("n1", last_ms=NOW)
    gpus = [ledger.gpu(node) for _ in range(MOST_GPUS + 4)]
    for number in range(MOST_HOLDERS + 3):
        start = NOW - HOUR + number * MINUTE // 2
        ledger.hold(ledger.run(start_ms=start, end_ms=start + MINUTE // 2), gpus[0])
    ledger.save(cur)
    shown = pages.get("/nodes/n1")
    assert len(lanes(shown)) == MOST_GPUS
    text = shown.text()
    assert "the 16 most idle of 20 are drawn" in text
    assert "3 short holds not drawn" in text


def test_order_and_driver_are_told(pages: Pages, ledger: Ledger, cur: Cursor) -> None:
    node = ledger.node("n1", last_ms=NOW, driver_version="580.1")
    ledger.gpu(node, minor=3, position=1, pci_bus_id="0000:3B:00.0")
    for version, ago in (("570.2", 9 * HOUR), ("580.1", 3 * HOUR)):
        ledger.put("node_driver", node_key=node, driver_version=version, from_ms=NOW - ago)
    ledger.save(cur)
    text = pages.get("/nodes/n1").text()
    assert "580.1  since  Sun 29 Nov 21:00 570.2  since  Sun 29 Nov 15:00" in text
    assert "GPU 0 3 1 0000:3B:00.0 GPU-1" in text
    assert "driver 570.2 → 580.1 on n1" in text


def test_a_node_that_never_reported(pages: Pages) -> None:
    assert "No node of this name has reported." in pages.get("/nodes/n9").text()
