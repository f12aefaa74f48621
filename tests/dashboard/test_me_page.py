"""A person's own page, before anybody signs in."""

from collections.abc import Callable

from store.database import Cursor
from tests.dashboard.conftest import NOW
from tests.dashboard.pages import Pages
from tests.factories.ledger import HOUR, MINUTE, Ledger


def test_whoever_runs_the_hub_and_no_job_is_asked_whose_page_it_is(pages: Pages, small: Callable[..., Ledger]) -> None:
    small(user="bob")  # the viewer is ann
    text = pages.get("/me").text()
    assert "Whose GPUs?" in text
    assert "You held no GPU" not in text
    assert "Whose GPUs?" not in pages.get("/me?user=bob").text()


def test_minutes_of_data_are_not_drawn_as_a_day(pages: Pages, ledger: Ledger, cur: Cursor) -> None:
    began = NOW - 25 * MINUTE
    node = ledger.node(first_ms=began, last_ms=NOW)
    gpu = ledger.gpu(node, first_ms=began)
    run = ledger.run("7", start_ms=began, end_ms=None)
    ledger.hold(run, gpu)
    ledger.hour(gpu, run, NOW - HOUR, active=60)
    ledger.save(cur)
    cur.execute("DELETE FROM gpu_minute WHERE minute_ms < $1", [began])
    shown = pages.get("/me?user=ann")
    figure = shown.charts()["me-timeline"]["figure"]
    drawn = [trace for trace in figure["data"] if trace["type"] == "bar"]
    assert all(width <= 5 * MINUTE for trace in drawn for width in trace["width"])
    assert all(start >= "2026-11-29 23:30" for trace in drawn for start in trace["x"])
    assert "Since Sun 29 Nov 23:35 (25 min)" in shown.text()


def test_an_example_says_that_it_is_one_and_why(pages: Pages, small: Callable[..., Ledger], cur: Cursor) -> None:
    small(user="bob")
    cur.execute("INSERT OR REPLACE INTO meta VALUES ('synthetic', '1')")
    why = "An invented person, taken as an example: the one with the most idle GPU-hours of the last 30 days."
    assert why in pages.get("/me").text()
    assert why not in pages.get("/me?user=bob").text()
