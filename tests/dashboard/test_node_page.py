"""The node page: who holds a GPU now is told apart from who held it before."""

from collections.abc import Callable

from store.database import Cursor
from tests.dashboard.pages import Pages
from tests.factories.ledger import Ledger


def test_now_and_before_are_two_columns(pages: Pages, small: Callable[..., Ledger], cur: Cursor) -> None:
    small()
    text = pages.get("/nodes/n1").text()
    assert "Held by now" in text
    assert "Before, newest first" in text
