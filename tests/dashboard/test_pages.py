"""Every page renders: with data, without, with hostile names, while the store fails."""

from collections.abc import Callable
from pathlib import Path

import pytest

import dashboard.pages
from dashboard.app import find_pages
from store.database import Cursor
from store.errors import StoreError
from tests.dashboard.pages import Pages, Shown
from tests.factories.ledger import Ledger

ADDRESSES = (
    "/",
    "/me",
    "/jobs",
    "/jobs/101",
    "/people",
    "/people?by=account",
    "/recommendations",
    "/reports",
    "/nodes",
    "/nodes/n1",
    "/health",
    "/about",
    "/nowhere",
)
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "x" * 400,
    "\u202eevil\u202c",
    "one\ntwo\r\nthree\ttab",
    "🔥" * 60,
    "'; DROP TABLE run; --",
    "a/b?c=d#e%2F..",
    "<b>bold</b> & <a href='http://x'>x</a>",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_with_data(address: str, pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    shown = pages.get(address)
    assert shown.failed() == []
    assert sum(one["_type"] == "H1" for one in shown.walk()) == 1
    assert any(one.get("id") == "content" and one["_type"] == "Main" for one in shown.walk())


def test_a_job_has_its_processes_folded(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    page = pages.get("/jobs/101")
    (card,) = (one for one in page.walk() if one.get("id") == "processes" and one["_type"] == "Section")
    (folded,) = (one for one in Shown(card["children"]).walk() if one["_type"] == "Details")
    text = Shown(folded["children"]).text()
    assert text.startswith("Show 2 processes ")
    assert "n1:0 train 4711" in text
    assert "20 GiB" in text
    told = pages.client.get("/api/v1/jobs/101").json["processes"]
    assert [(one["pid"], one["program"], one["first"]) for one in told["items"]] == [
        (4711, "train", "2026-11-25T00:00:00Z"),
        (4712, None, "2026-11-25T00:00:00Z"),
    ]
    assert told["more"] == 0
    assert "processes" not in [one.get("id") for one in pages.get("/jobs/103").walk() if one["_type"] == "Section"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_empty_store(address: str, pages: Pages) -> None:
    assert pages.get(address).failed() == []


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize(
    "address", ["/", "/me", "/jobs", "/jobs/101", "/people", "/people?by=account", "/nodes", "/nodes/n1"]
)
def test_hostile_names_are_text(address: str, hostile: str, pages: Pages, small: Callable[..., Ledger]) -> None:
    small(name=hostile, user=hostile, account=hostile, partition=hostile)
    shown = pages.get(address)
    assert shown.failed() == []
    for graph in shown.charts().values():
        drawn = str(graph["figure"])
        assert "<script" not in drawn
        assert "<img" not in drawn
        assert "<a href" not in drawn
    for link in shown.links():
        assert not link.lower().startswith(("javascript:", "data:"))
        assert "<" not in link
        assert "\n" not in link


def test_a_person_of_any_name_has_a_page(pages: Pages, small: Callable[..., Ledger]) -> None:
    small(user=HOSTILE[1])
    (address,) = {link for link in pages.get("/people").links() if link.startswith("/jobs?")}
    assert "3 jobs" in pages.get(address).text()


def test_every_page_is_found_and_named() -> None:
    files = {file.stem for file in Path(dashboard.pages.__path__[0]).glob("*.py")} - {"__init__"}
    pages = find_pages()
    assert {page.module for page in pages} == files
    assert len({page.path for page in pages}) == len(pages)
    assert all(page.question.endswith("?") for page in pages)


def test_navigation_marks_the_page(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    marked = [one["href"] for one in pages.get("/jobs/101").walk() if one.get("aria-current") == "page"]
    assert marked == ["/jobs"]


def test_job_that_is_not_there(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    assert "of this id has held a GPU here" in pages.get("/jobs/999").text()
    assert "of this id has held a GPU here" in pages.get("/jobs/%3Cscript%3E").text()


def test_unknown_path_is_404_and_says_where_to_go(pages: Pages) -> None:
    assert pages.client.get("/nowhere").status_code == 404
    assert pages.client.get("/jobs/1").status_code == 200
    assert "There is no page at" in pages.get("/nowhere").text()


def test_store_that_fails_is_one_card(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    pages.broken = StoreError("The disk is gone; look at it.")
    shown = pages.get("/")
    assert len(shown.failed()) == 1
    assert "The disk is gone; look at it." in shown.failed()[0]


def test_one_failing_region_leaves_the_others(
    pages: Pages, small: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    small()

    def fails(*_: object, **__: object) -> None:
        raise StoreError("The query was stopped after 5 s; choose a shorter period.")

    pages.get("/")  # so that the card can say when it last worked
    monkeypatch.setattr("analytics.queries.timeline.over_time", fails)
    shown = pages.get("/")
    card, beside = shown.failed()
    assert "GPU-hours over time could not be shown" in card
    assert "Pending GPU requests could not be shown" in beside
    assert "stopped after 5 s" in card
    assert "last worked" in card
    assert shown.figures()["idle_gpu_h"] == pytest.approx(6.0)


def test_a_surprise_is_logged_and_not_shown(
    pages: Pages, small: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    small()

    def surprises(*_: object, **__: object) -> None:
        raise ValueError("secret detail")

    monkeypatch.setattr("analytics.queries.findings.idle_now", surprises)
    (card,) = pages.get("/").failed()
    assert "secret detail" not in card
    assert "secret detail" in caplog.text


def test_synthetic_is_said_on_every_page(pages: Pages, small: Callable[..., Ledger], cur: object) -> None:
    small()
    assert "Synthetic cluster." not in pages.get("/").text()
    cur.execute("UPDATE meta SET value = '1' WHERE key = 'synthetic'")  # type: ignore[attr-defined]
    for address in ADDRESSES:
        text = pages.get(address).text()
        assert "Synthetic cluster." in text
        assert "Record your own: 3 steps" in text


def test_stale_data_is_amber(pages: Pages, small: Callable[..., Ledger], cur: object) -> None:
    small()
    assert [one["data-stale"] for one in pages.get("/").having("data-stale")] == ["no"]
    cur.execute("UPDATE node SET last_ms = last_ms - 600000")  # type: ignore[attr-defined]
    assert [one["data-stale"] for one in pages.get("/").having("data-stale")] == ["yes"]


def test_bad_address_is_one_sentence_and_the_rest_works(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    shown = pages.get("/jobs?range=soon&min_gpu_h=many")
    (alert,) = [one for one in shown.walk() if one.get("role") == "alert"]
    assert "min_gpu_h is a number" in str(alert["children"])
    assert shown.failed() == []


def test_without_slurm_programs_are_sessions(pages: Pages, ledger: Ledger, cur: object) -> None:
    node = ledger.node("desk", slurm=False)
    gpu = ledger.gpu(node)
    run = ledger.run("s-1", kind="session", account=None, partition=None)
    ledger.hold(run, gpu, source="process")
    ledger.hour(gpu, run, ledger.tables["run"][0]["start_ms"], active=60, util_pct=80)
    ledger.save(cur)  # type: ignore[arg-type]
    assert any(one["_type"] == "H1" and one["children"] == "Sessions" for one in pages.get("/jobs").walk())
    shown = pages.get("/jobs/s-1")
    assert "Session" in shown.text()
    assert "Request and use" not in shown.text()
    assert shown.failed() == []


def test_about_names_the_directory_that_is_shown(pages: Pages, cur: Cursor) -> None:
    """The synthetic cluster's store is not the directory that was named, but demo/ in it."""
    assert str(cur.database.directory) in pages.get("/about").text()
    assert "gpuledger up --data .run" in pages.get("/about").text()


@pytest.mark.parametrize("address", ["/", "/jobs?user=ann", "/nodes", "/about"])
def test_the_address_of_a_page_can_be_copied(pages: Pages, small: Callable[..., Ledger], address: str) -> None:
    small()
    shown = pages.get(address)
    assert "Copy link" in shown.text()
    assert [one for one in shown.having("data-copy") if one["data-copy"] == ""]
