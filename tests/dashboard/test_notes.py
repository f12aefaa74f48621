"""Dated notes in charts: markers with their text, listed beneath; a change of thresholds breaks the trend."""

from collections.abc import Callable

import pytest

from store import in_force, notes
from store.database import Cursor
from tests.dashboard.conftest import NOW
from tests.dashboard.pages import Pages
from tests.factories.ledger import DAY, HOUR, Ledger

CHARTS = {"/": "overview-timeline", "/me": "me-timeline", "/nodes?range=7d": "nodes-lanes"}


@pytest.mark.parametrize("address", CHARTS)
def test_charts_carry_notes(address: str, pages: Pages, small: Callable[..., Ledger], cur: Cursor) -> None:
    small()
    hostile = "<b>new</b> cooling"
    notes.add(cur, at_ms=NOW - DAY, until_ms=NOW - HOUR, kind="maintenance", text=hostile, who="root", now_ms=NOW)
    in_force.keep(cur, {"states.active_pct": "25"}, NOW - 9 * DAY)
    in_force.keep(cur, {"states.active_pct": "30"}, NOW - 2 * DAY)
    shown = pages.get(address)
    assert shown.failed() == []
    figure = shown.charts()[CHARTS[address]]["figure"]
    (markers,) = (trace for trace in figure["data"] if trace["name"] == "notes")
    assert len(markers["x"]) == 2
    assert "maintenance" in markers["customdata"][1]
    assert "<b>" not in str(figure["data"][-1]["customdata"])
    assert [shape["type"] for shape in figure["layout"]["shapes"][-2:]] == ["line", "rect"]
    assert [one["text"] for one in figure["layout"]["annotations"]] == ["thresholds changed"]
    text = shown.text()
    assert f"maintenance:  {hostile}  ( root )" in text
    assert "thresholds:  threshold states.active_pct: 25 → 30 : hours before and after are not compared" in text


def test_without_notes_a_chart_is_as_it_was(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    figure = pages.get("/").charts()["overview-timeline"]["figure"]
    assert "shapes" not in figure["layout"]
    assert not [trace for trace in figure["data"] if trace["name"] == "notes"]
