"""The synthetic cluster on every page: drawn with data, in both schemes and on a phone, with the API's own numbers."""

import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.browser import DESKTOP, PHONE, Chromium, Sheet
from tests.e2e.ledger import Running, run, until

pytestmark = pytest.mark.browser
CLUSTER = ("--nodes", 2, "--gpus", 2, "--days", 2)
PAGES = ("/", "/me", "/jobs", "/nodes", "/people", "/recommendations", "/reports", "/health", "/about")
COMPLETE_ON_A_PHONE = ("/me", "/jobs/")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    filled = run("demo", *CLUSTER, "--data", folder, "--no-serve", timeout_s=120)
    assert (filled.returncode, "holds the synthetic cluster" in filled.stdout) == (0, True), filled.stderr
    return folder


@pytest.fixture(scope="module")
def hub(data: Path) -> Iterator[Running]:
    running = Running(data / "log", "demo", *CLUSTER, "--data", data, "--port", 0)
    try:
        until("all that was sent is judged", lambda: settled(running), every_s=0.5)
        yield running
        assert running.stop() == 0
    finally:
        running.end()


@pytest.fixture(scope="module")
def pages(hub: Running) -> tuple[str, ...]:
    """Every page's address, with a run and a node that are there."""
    job = hub.json("/api/v1/jobs?limit=1")["items"][0]
    node = hub.json("/api/v1/nodes")["items"][0]["name"]
    return (*PAGES, f"/jobs/{urllib.parse.quote(job['job_id'])}", f"/nodes/{node}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_drawn_with_data(hub: Running, chromium: Chromium, pages: tuple[str, ...], scheme: str) -> None:
    with chromium.sheet(hub.address, scheme=scheme) as sheet:
        for path in pages:
            sheet.open(path)
            assert sheet.failed_cards() == [], path
            assert "Every name and number here is simulated." in sheet.text("#synthetic")
            assert len(sheet.text("main")) > 200, path
            if sheet.texts(".figure-value"):
                assert set(sheet.texts(".figure-value")) != {"—"}, path
            assert sheet.fits(), path
            sheet.resize(PHONE)
            assert sheet.failed_cards() == [], path
            if path.startswith(COMPLETE_ON_A_PHONE):
                assert sheet.fits(), path
            sheet.resize(DESKTOP)


@pytest.fixture(scope="module")
def past(hub: Running) -> str:
    """A window that is over: minutes of the cluster that come in meanwhile change nothing in it."""
    end_s = hub.json("/api/v1/health")["data_to_ms"] // 3_600_000 * 3600
    return f"from={end_s - 40 * 3600}&to={end_s - 3600}"


def test_figures_are_the_apis(hub: Running, chromium: Chromium, past: str) -> None:
    summary = hub.json(f"/api/v1/summary?{past}")
    jobs = hub.json(f"/api/v1/jobs?{past}&limit=1000")
    ended = next(item for item in jobs["items"] if item["end_ms"])
    job = f"/jobs/{urllib.parse.quote(ended['job_id'])}"
    expected = {
        f"/?{past}": summary | summary["hours"],
        f"/jobs?{past}": jobs["total"] | {"held_gpu_h": jobs["total"]["gpu_h"]},
        f"/nodes?{past}": summary["hours"],
        job: hub.json(f"/api/v1{job}"),
    }
    with chromium.sheet(hub.address) as sheet:
        for path, told in expected.items():
            shown = sheet.open(path).figures()
            assert len(shown) >= 5
            assert shown == {name: told[name] for name in shown}, path
    for name in ("gpu_h", "idle_gpu_h", "unknown_gpu_h"):
        assert sum(item[name] for item in jobs["items"]) == pytest.approx(jobs["total"][name], abs=1e-9)
    assert jobs["total"]["gpu_h"] == summary["hours"]["held_gpu_h"]
    assert jobs["total"]["idle_gpu_h"] == summary["hours"]["idle_gpu_h"]


def test_my_figures_are_the_apis(hub: Running, chromium: Chromium) -> None:
    user = hub.json("/api/v1/users")["items"][0]["user"]
    path = f"/api/v1/summary?range=30d&user={urllib.parse.quote(user)}"
    with chromium.sheet(hub.address) as sheet:

        def read() -> bool:
            before = hub.json(path)
            shown = sheet.open(f"/me?user={urllib.parse.quote(user)}").figures()
            if hub.json(path) != before:
                return False  # a minute of the cluster came in between
            assert shown == {name: before["hours"][name] for name in shown}
            return len(shown) == 4

        until("the page stands still", read)


def test_each_figure_leads_to_a_list_with_the_same_total(hub: Running, chromium: Chromium, past: str) -> None:
    with chromium.sheet(hub.address) as sheet:
        figures = sheet.open(f"/?{past}").figures()
        links = figure_links(sheet)
        assert {"held_gpu_h", "active_gpu_h", "idle_gpu_h", "capacity_gpu_h", "energy_kwh"} <= links.keys()
        totals: dict[str, dict[str, float | None]] = {}
        for figure, href in links.items():
            if href == "/health":
                continue  # how much was measured is told there node by node
            if href not in totals:
                totals[href] = sheet.open(href).figures()
            assert totals[href][figure] == figures[figure], href


def figure_links(sheet: Sheet) -> dict[str, str]:
    found: list[list[str]] = sheet.page.eval_on_selector_all(
        ".figure a.figure-link",
        "all => all.map(one => [one.closest('.figure').dataset.figure, one.getAttribute('href')])",
    )
    return dict(found)


def settled(hub: Running) -> bool:
    health = hub.json("/api/v1/health")
    return bool(health["pending_hours"] == 0 and health["pending_runs"] == 0 and health["data_to"])
