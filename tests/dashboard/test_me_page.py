"""A person's own page, before anybody signs in."""

from collections.abc import Callable

from tests.dashboard.pages import Pages
from tests.factories.ledger import Ledger


def test_whoever_runs_the_hub_and_no_job_is_asked_whose_page_it_is(pages: Pages, small: Callable[..., Ledger]) -> None:
    small(user="bob")  # the viewer is ann
    text = pages.get("/me").text()
    assert "Whose GPUs?" in text
    assert "You held no GPU" not in text
    assert "Whose GPUs?" not in pages.get("/me?user=bob").text()
