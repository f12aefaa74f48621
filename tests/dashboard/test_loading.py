"""While much is still to be summed, every page says so, and Health does not say that all is well."""

from collections.abc import Callable

import pytest

from store.database import Cursor
from tests.dashboard.pages import Pages
from tests.factories.ledger import HOUR, T0, Ledger

SAID = "Still loading: 40 hours of nodes to be summed. Figures change until then."


@pytest.mark.parametrize("path", ["/", "/jobs", "/me", "/recommendations"])
def test_every_page_says_what_is_not_in_it_yet(
    pages: Pages, small: Callable[..., Ledger], cur: Cursor, path: str
) -> None:
    ledger = small()
    assert "Still loading" not in pages.get(path).text()
    wait(ledger, cur)
    assert SAID in pages.get(path).text()


def test_health_is_not_content_with_half_of_it(pages: Pages, small: Callable[..., Ledger], cur: Cursor) -> None:
    wait(small(), cur)
    (sentence,) = [one for one in pages.get("/health").walk() if one.get("id") == "sentence"]
    assert "everything that should report does" not in str(sentence)


def wait(ledger: Ledger, cur: Cursor) -> None:
    for hour in range(40):
        start = T0 + hour * HOUR
        ledger.put("dirty_hour", hour_ms=start, node_key=1, gen=1, from_ms=start, to_ms=start + HOUR)
    ledger.save(cur)


def test_nothing_is_called_nothing_while_much_is_not_judged(
    pages: Pages, small: Callable[..., Ledger], cur: Cursor
) -> None:
    ledger = small()
    settled = "No recommendation rests on enough runs yet."
    assert settled in pages.get("/").text()
    wait(ledger, cur)
    shown = pages.get("/").text()
    assert settled not in shown
    assert "Not known yet: what came in is still being judged." in shown
