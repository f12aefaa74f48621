"""The Nodes page: few nodes one by one, many by group, and what is not drawn is counted."""

from collections.abc import Callable

import pytest

from store.database import Cursor
from tests.dashboard.conftest import NOW
from tests.dashboard.pages import Pages, Shown
from tests.factories.ledger import HOUR, Ledger


@pytest.fixture
def fleet(ledger: Ledger, cur: Cursor) -> None:
    """70 nodes a*, 5 nodes b* of which one is silent; one GPU each, idle in the last hour."""
    for number in range(75):
        name = f"a-{number + 1:02}" if number < 70 else f"b-{number - 69:02}"
        node = ledger.node(name, last_ms=NOW - (HOUR if name == "b-05" else 0))
        gpu = ledger.gpu(node)
        run = ledger.run(start_ms=NOW - HOUR, end_ms=None)
        ledger.hold(run, gpu)
        ledger.hour(gpu, run, NOW - HOUR, idle=60)
    ledger.save(cur)


def drawn(shown: Shown) -> int:
    return sum(one.get("className") == "node-box" for one in shown.walk())


def groups(shown: Shown) -> dict[str, str]:
    return {one["data-group"]: one["href"] for one in shown.having("data-group")}


@pytest.mark.usefixtures("fleet")
def test_many_nodes_are_groups_that_open(pages: Pages) -> None:
    shown = pages.get("/nodes")
    assert shown.failed() == []
    assert drawn(shown) == 0
    links = groups(shown)
    assert links == {"a": "/nodes?group=a", "a.2": "/nodes?group=a.2", "b": "/nodes?group=b"}
    assert "75 nodes in 3 groups; open one for its nodes." in shown.text()
    assert "1 node silent" in shown.text()
    opened = pages.get(links["a"])
    assert opened.failed() == []
    assert (drawn(opened), groups(opened)) == (64, {})
    assert "64 nodes of a-[01-64]; 11 nodes of 2 other groups not drawn." in opened.text()
    assert "11 other nodes" in opened.text()
    assert "/nodes" in opened.links()


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize("address", ["/nodes?", "/nodes?group=a.2&", "/nodes?group=b&"])
def test_the_total_is_of_all_nodes(address: str, pages: Pages) -> None:
    shown = pages.get(f"{address}range=24h")
    assert shown.figures()["held_gpu_h"] == pytest.approx(75)
    assert shown.figures()["idle_gpu_h"] == pytest.approx(75)


@pytest.mark.usefixtures("fleet")
def test_a_group_that_is_none_shows_all_groups(pages: Pages) -> None:
    assert len(groups(pages.get("/nodes?group=nowhere"))) == 3


def test_few_nodes_are_drawn_one_by_one_with_their_day(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    shown = pages.get("/nodes")
    assert (drawn(shown), groups(shown)) == (2, {})
    figure = shown.charts()["nodes-lanes"]["figure"]
    assert figure["layout"]["yaxis"]["ticktext"] == ["n1", "n2"]
    assert {trace["name"] for trace in figure["data"]} >= {"idle, empty", "not measured"}
    assert "nothing silent or faulty" in shown.text()


@pytest.mark.usefixtures("fleet")
def test_silent_nodes_are_listed_with_since_when(pages: Pages) -> None:
    text = pages.get("/nodes").text()
    assert "Silent and faulty" in text
    assert "b-05 the whole node silent for 1 h" in text
