"""What Health tells administrators of nodes, and the same at the API and on a terminal."""

from collections.abc import Callable

from store.database import Cursor
from tests.dashboard.conftest import NOW
from tests.dashboard.pages import Pages, Shown
from tests.factories.ledger import HOUR, Ledger

HOSTILE = "<img src=x onerror=alert(1)>"


def _stray(ledger: Ledger, cur: Cursor) -> None:
    gpu = ledger.gpu(ledger.node("odd", last_ms=NOW))
    times = {"first_ms": NOW - 3 * HOUR, "last_ms": NOW - HOUR}
    ledger.put("process", gpu_key=gpu, pid=7, name=HOSTILE, uid=1001, processes=1, **times)
    ledger.save(cur)


def test_health_names_node_and_gpu_and_links_to_it(pages: Pages, ledger: Ledger, cur: Cursor) -> None:
    _stray(ledger, cur)
    (card,) = (one for one in pages.get("/health").walk() if one.get("id") == "administrators" and "children" in one)
    shown = Shown(card["children"])
    assert "Program without a job" in shown.text()
    assert "odd , GPU 0" in shown.text()
    assert "/nodes/odd" in [one.get("href") for one in shown.walk()]


def test_nothing_to_look_at_takes_no_place(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    assert "For administrators" not in pages.get("/health").text()


def test_the_api_lists_them_by_node(pages: Pages, ledger: Ledger, cur: Cursor) -> None:
    _stray(ledger, cur)
    (one,) = pages.client.get("/api/v1/node-findings").json["items"]
    assert (one["rule"], one["node"], one["gpu"], one["gpu_h"]) == ("stray_process", "odd", 0, None)
    assert one["sentence"].startswith(f"{HOSTILE} of user id 1001 was there for 2 h")
    assert pages.client.get("/api/v1/node-findings?node=other").json["items"] == []
