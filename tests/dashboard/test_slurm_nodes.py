"""Slurm's word about nodes on the Nodes and Node pages and in the API."""

from collections.abc import Callable

from store.database import Cursor
from tests.dashboard.conftest import NOW
from tests.dashboard.pages import Pages
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger

DAY_4 = T0 + 3 * DAY


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


def test_accounts_that_slurm_counts_otherwise_are_named_with_the_reason(
    pages: Pages, ledger: Ledger, cur: Cursor
) -> None:
    run = ledger.run(start_ms=DAY_4, end_ms=DAY_4 + HOUR, alloc_gpus=1, db_index=7)
    ledger.hour(ledger.gpu(ledger.node()), run, DAY_4, active=60)
    ledger.put("slurm_usage", cluster="c1", account="physics", day_ms=DAY_4, gpu_s=900, at_ms=NOW)
    ledger.put("slurm_usage", cluster="c1", account="bio", day_ms=DAY_4, gpu_s=0, at_ms=NOW)
    ledger.save(cur)
    text = pages.get("/health").text()
    assert "1 of 2 accounts and days agree; sreport has 2 of them" in text
    assert "Slurm has not rolled all of the day up yet" in text
