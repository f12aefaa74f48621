"""A refresh sends the least: only slots whose content changed, and figures; everything where the shape changed."""

from collections.abc import Callable

import pytest
from dash import html, no_update

from dashboard import frame, live
from dashboard.app import find_pages
from store.database import Cursor
from tests.dashboard.pages import Pages
from tests.factories.ledger import Ledger


def page(idle: str = "1", chart: str = "a", title: str = "t", *, more: bool = False) -> html.Div:
    inner = live.slot("tiles", html.P(idle))
    framed = live.slot("card", [html.H2(title), inner, live.chart("time", {"data": [chart], "layout": {}})])
    root = html.Div([framed, live.slot("list", html.A("x", href="/y")), live.slot("extra", "e") if more else None])
    setattr(root, live.DIGEST, live.digest(root))
    return root


def shown(root: html.Div) -> live.Shown:
    parts = live.Parts.of(root)
    digests = {name: getattr(part, live.DIGEST) for name, part in parts.slots.items()}
    return live.Shown(getattr(root, live.DIGEST), digests, list(parts.figures))


def test_nothing_changed() -> None:
    changes = live.changes(page(), shown(page()))
    assert changes.whole is no_update
    assert changes.children == [no_update] * 3
    assert changes.figures == [{"data": ["a"], "layout": {}}]


def test_only_the_slot_that_changed() -> None:
    before = shown(page())
    changes = live.changes(page(idle="2"), before)
    sent = dict(zip(before.digests, changes.children, strict=True))
    assert changes.whole is no_update
    assert {name for name, child in sent.items() if child is not no_update} == {"tiles"}
    digests = dict(zip(before.digests, changes.digests, strict=True))
    assert digests["tiles"] not in (no_update, before.digests["tiles"])


def test_a_figure_alone_changes_no_slot() -> None:
    changes = live.changes(page(chart="b"), shown(page()))
    assert changes.children == [no_update] * 3
    assert changes.figures[0]["data"] == ["b"]


def test_a_frame_around_a_chart_changes_everything() -> None:
    assert live.changes(page(title="other"), shown(page())).whole is not no_update


def test_another_shape_changes_everything() -> None:
    changes = live.changes(page(more=True), shown(page()))
    assert changes.whole is not no_update
    assert changes.children == [no_update] * 3


@pytest.mark.parametrize("address", ["/", "/me?user=ann", "/jobs/102", "/nodes/n2", "/health"])
def test_new_data_keeps_the_charts_of_live_pages(
    address: str, pages: Pages, small: Callable[..., Ledger], cur: Cursor
) -> None:
    small()
    path, _, query = address.partition("?")
    all_pages = find_pages()
    found = next(one for one in all_pages if one.matches(path))
    with pages.app.server.test_request_context(path):
        with frame.opened(found, path, query) as request:
            before = shown(frame._live(found, request))
        cur.execute(
            "UPDATE gpu_hour SET idle_ms = idle_ms - 60000, active_ms = active_ms + 60000 WHERE idle_ms > 60000"
        )
        cur.execute("UPDATE node SET last_ms = last_ms + 1")
        changes, said = frame.refreshed(all_pages, path, query, before)
    assert changes.whole is no_update
    assert any(child is not no_update for child in changes.children)
    assert "Updated" in said["say"]
