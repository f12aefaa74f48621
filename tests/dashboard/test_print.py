"""Pages on paper: documents by the templates of the reports, with the figures of the page and where they are from."""

from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from store import notes
from store.database import Cursor
from tests.dashboard.conftest import NOW
from tests.dashboard.pages import Pages
from tests.dashboard.test_pages import HOSTILE
from tests.factories.ledger import DAY, Ledger

PRINTED = ("/", "/me", "/jobs", "/jobs/101")


class Tags(HTMLParser):
    """Tags and text of a document."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] not in ("style", "title"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.mark.parametrize("address", PRINTED)
def test_a_page_leads_to_its_document(address: str, pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    (link,) = (href for href in pages.get(f"{address}?range=7d").links() if href.startswith("/print"))
    assert link == f"/print{address}?range=7d"
    answer = pages.client.get(link)
    assert answer.status_code == 200
    assert "script" not in Tags(answer.text).tags
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    text = Tags(answer.text).text
    assert "Data as of Mon 30 Nov 00:00" in text
    assert f"{address}?range=7d" in text


@pytest.mark.parametrize("address", ["/", "/me", "/jobs"])
def test_the_figures_are_those_of_the_page(address: str, pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    page = pages.get(f"{address}?user=ann&range=7d")
    text = Tags(pages.client.get(f"/print{address}?user=ann&range=7d").text).text
    for tile in page.having("data-figure"):
        if tile["className"] == "figure":
            shown = [one["title"] for one in page.walk(tile["children"]) if one.get("className") == "unknown"]
            assert shown or page_text(page.walk(tile["children"])) in text
    assert "user ann" in text


def page_text(parts: object) -> str:
    """The value of a tile: number and unit."""
    for one in parts:  # type: ignore[attr-defined]
        if "figure-value" in str(one.get("className")):
            children = one.get("children")
            return " ".join(" ".join(_said(children)).split())
    raise AssertionError("a tile has a value")


def _said(node: object) -> list[str]:
    if isinstance(node, str):
        return [node]
    if isinstance(node, list):
        return [text for one in node for text in _said(one)]
    return _said(node["props"].get("children")) if isinstance(node, dict) else []


def test_a_chart_is_drawn_inline_with_its_notes(pages: Pages, small: Callable[..., Ledger], cur: Cursor) -> None:
    small()
    notes.add(cur, at_ms=NOW - DAY, until_ms=None, kind="policy", text="<b>quota</b>", who="root", now_ms=NOW)
    answer = pages.client.get("/print/?range=7d").text
    assert answer.count("<rect") > 5
    assert "&lt;b&gt;quota" in answer
    assert "<b>quota" not in answer
    assert 'class="s-active"' in answer


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("address", ["/", "/jobs", "/jobs/101", "/me"])
def test_hostile_names_are_text(address: str, hostile: str, pages: Pages, small: Callable[..., Ledger]) -> None:
    small(name=hostile, user=hostile, account=hostile, partition=hostile)
    answer = pages.client.get(f"/print{address}", query_string={"user": hostile} if address == "/me" else {})
    assert answer.status_code == 200
    assert not {"script", "img", "b"} & set(Tags(answer.text).tags)


@pytest.mark.parametrize("address", PRINTED)
def test_an_empty_store_prints_too(address: str, pages: Pages) -> None:
    assert pages.client.get(f"/print{address}").status_code == 200


def test_what_cannot_be_printed_is_404(pages: Pages) -> None:
    assert pages.client.get("/print/health").status_code == 404
    assert pages.client.get("/print/nowhere").status_code == 404
    assert not [href for href in pages.get("/health").links() if href.startswith("/print")]


def test_an_id_that_no_address_can_hold_survives(pages: Pages, ledger: Ledger, cur: Cursor) -> None:
    gpu = ledger.gpu(ledger.node())
    run = ledger.run("1/2%2F?x")
    ledger.hold(run, gpu)
    ledger.hour(gpu, run, NOW - 7 * DAY, active=60)
    ledger.save(cur)
    (link,) = (href for href in pages.get("/jobs/1%2F2%252F%3Fx").links() if href.startswith("/print"))
    assert "Job 1/2%2F?x" in Tags(pages.client.get(link).text).text
