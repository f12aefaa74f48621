"""Slurm's word about nodes on the Nodes and Node pages and in the API."""

from collections.abc import Callable

from store.database import Cursor
from tests.dashboard.conftest import NOW
from tests.dashboard.pages import Pages
from tests.factories.ledger import MINUTE, Ledger


def test_nodes_that_are_out_of_use_or_unreported_are_listed(
    pages: Pages, small: Callable[..., Ledger], cur: Cursor
) -> None:
    small()
    assert "What Slurm says" not in pages.get("/nodes").text()
    ledger = Ledger()
    ledger.word("n2", NOW - MINUTE, standing="offline", state="IDLE", flags="DRAIN", reason="fan <b>3</b>")
    ledger.word("n7", NOW - MINUTE, gpus=8)
    ledger.word("n8", NOW - MINUTE, gpus=0)
    ledger.save(cur)
    text = pages.get("/nodes").text()
    assert "What Slurm says" in text
    assert "idle, drain" in text
    assert "fan <b>3</b>" in text
    assert "no agent reports" in text
    assert "n8" not in text
    assert "Slurm calls it idle, drain" in pages.get("/nodes/n2").text()
