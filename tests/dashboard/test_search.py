"""The search field leads to what was meant."""

from collections.abc import Callable

import pytest

from tests.dashboard.pages import Pages
from tests.factories.ledger import Ledger


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("101", "/jobs/101"),
        (" 102 ", "/jobs/102"),
        ("ann", "/jobs?user=ann&range=30d"),
        ("Physics", "/jobs?account=physics&range=30d"),
        ("gpu", "/jobs?partition=gpu&range=30d"),
        ("n2", "/nodes/n2"),
        ("trai", "/jobs?text=trai&range=30d"),
        ("//evil.example/", "/jobs?text=%2F%2Fevil.example%2F&range=30d"),
        ("' OR 1=1 --", "/jobs?text=%27%20OR%201%3D1%20--&range=30d"),
        ("", "/jobs"),
    ],
)
def test_a_word_leads_to_what_it_names(pages: Pages, small: Callable[..., Ledger], text: str, place: str) -> None:
    small()
    answer = pages.client.get("/search", query_string={"text": text})
    assert (answer.status_code, answer.headers["Location"]) == (302, place)


def test_an_id_of_another_time_is_not_denied(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    shown = pages.get("/jobs?text=101&range=24h")
    assert "/jobs/101" in shown.links()
    assert "No job held a GPU" not in shown.text()
