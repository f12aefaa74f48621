"""HTML and text as golden files; hostile names do no harm; nothing is fetched from elsewhere."""

import os
import re
from pathlib import Path

import pytest

from analytics.model import Viewer
from analytics.reports.build import build
from analytics.reports.model import Scope
from analytics.reports.render import render_html, render_text
from analytics.site import SiteSettings
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, T0

GOLDEN = Path(__file__).parent / "golden"
SITE = SiteSettings(
    url="http://127.0.0.1:8050", name="Test <site> & co", contact="help@site.example", zone="Europe/Helsinki"
)
MADE = T0 + 7 * DAY + 10 * HOUR


def rendered(cur: Cursor, scope: str) -> dict[str, str]:
    report = build(cur, Viewer(), Scope.parse(scope), "2026-W48", SITE, MADE)
    return {"html": render_html(report), "txt": render_text(report)}


@pytest.mark.parametrize("scope", ["cluster", "account:chem", "user:bob"])
def test_golden(weeks: Cursor, scope: str) -> None:
    for suffix, text in rendered(weeks, scope).items():
        file = GOLDEN / f"{scope.replace(':', '-')}.{suffix}"
        if os.environ.get("GOLDEN") == "write":
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8"), f"{file.name} differs; GOLDEN=write writes it anew"


def test_hostile_names_are_text(weeks: Cursor) -> None:
    html = rendered(weeks, "cluster")["html"]
    assert "<img" not in html
    assert "Test &lt;site&gt; &amp; co" in html


def test_text_carries_no_control_characters(weeks: Cursor) -> None:
    text = rendered(weeks, "cluster")["txt"]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)


def test_html_needs_nothing_from_elsewhere(weeks: Cursor) -> None:
    html = rendered(weeks, "cluster")["html"]
    assert not re.search(r"<(script|link|img|iframe)|url\(|@import", html)
    assert len(html.encode()) < 100_000


def test_no_word_of_blame(weeks: Cursor) -> None:
    for text in rendered(weeks, "user:bob").values():
        assert not re.search(r"wast|verdict|flagged|offend|violat", text, re.IGNORECASE)


def test_every_cell_of_a_row_is_told_by_name_on_a_phone(weeks: Cursor) -> None:
    html = rendered(weeks, "cluster")["html"]
    assert "@media screen and (max-width: 520px)" in html
    heads = re.findall(r'<th [^>]*scope="col"[^>]*>([^<]+)</th>', html)
    labels = re.findall(r'data-label="([^"]+)"', html)
    assert set(labels) == set(heads)
