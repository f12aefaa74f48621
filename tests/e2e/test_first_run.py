"""A hub that has nothing yet: every page says so in words, and what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.browser import Chromium
from tests.e2e.ledger import Running

pytestmark = pytest.mark.browser
PAGES = (
    *("/", "/me", "/jobs", "/jobs/1", "/nodes", "/nodes/n1", "/people", "/recommendations", "/reports", "/health"),
    "/about",
)


def test_an_empty_store_is_no_error(start: Callable[..., Running], chromium: Chromium, tmp_path: Path) -> None:
    hub = start("serve", "--data", tmp_path / "data", "--port", 0)
    with chromium.sheet(hub.address) as sheet:
        steps = sheet.open("/").text("#first-run")
        assert "Nothing was recorded yet" in steps
        assert "gpuledger collect" in steps
        for path in PAGES:
            sheet.open(path)
            assert sheet.failed_cards() == [], path
            assert sheet.text("h1") != ""
            assert sheet.fits(), path
