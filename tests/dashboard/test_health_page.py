"""Health of a large fleet: what needs somebody first, the rest counted."""

from dashboard.pages.health import MOST_NODES
from store.database import Cursor
from tests.dashboard.pages import Pages
from tests.factories.ledger import HOUR, T0, Ledger


def test_a_large_fleet_is_listed_in_part_and_counted_whole(pages: Pages, cur: Cursor, ledger: Ledger) -> None:
    for number in range(MOST_NODES + 6):
        silent = number == MOST_NODES + 5
        node = ledger.node(f"n{number:03}", last_ms=T0 + (HOUR if silent else 3 * HOUR))
        ledger.gpu(node)
        row = {"node_key": node, "probe": "gpu", "at_ms": T0, "duration_ms": 1.0, "ok": True, "rows": 8, "runs": 6}
        ledger.put("probe_log", **(row | {"error": ""}))
    ledger.save(cur)
    shown = pages.get("/health").text()
    assert "6 more nodes" in shown
    assert f"n{MOST_NODES + 5:03}" in shown  # the silent one is listed, though last by name
    assert f"n{MOST_NODES + 4:03}" not in shown
    assert f"{MOST_NODES + 6} nodes" in shown
