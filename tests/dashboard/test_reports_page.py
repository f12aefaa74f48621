"""The archive before its first report."""

from collections.abc import Callable

from store.database import Cursor, Database
from tests.dashboard.pages import Pages
from tests.factories.ledger import DAY, T0, Ledger


def test_an_empty_archive_says_what_it_waits_for(pages: Pages, small: Callable[..., Ledger], cur: Cursor) -> None:
    small()
    assert "after the first complete week" in pages.get("/reports").text()
    cur.execute("UPDATE node SET first_ms = $1, last_ms = $2", [T0, T0 + 8 * DAY])
    assert "The report of 2026-W48 is made once its data is summed" in pages.get("/reports").text()


def test_the_command_asks_this_hub(database: Database, ledger: Ledger, cur: Cursor) -> None:
    """Copied elsewhere, or without a configuration, it would ask another hub or none."""
    ledger.save(cur)
    pages = Pages(database, T0, url="https://gpu.example.org")
    assert "gpuledger report --hub https://gpu.example.org -o report.html" in pages.get("/reports").text()
