"""A figure leads to a list whose total shows the same number, to the last digit."""

from collections.abc import Callable

import pytest

from tests.dashboard.pages import Pages
from tests.factories.ledger import Ledger


@pytest.mark.parametrize("name", ["capacity_gpu_h", "held_gpu_h", "active_gpu_h", "idle_gpu_h", "energy_kwh"])
@pytest.mark.parametrize(
    "query", ["", "?range=30d", "?range=24h", "?user=ann", "?partition=gpu&range=7d", "?model=none"]
)
def test_overview_leads_to_the_same_number(name: str, query: str, pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    overview = pages.get(f"/{query}")
    value = overview.figures()[name]
    if value is None:
        return
    target = overview.figure_link(name)
    assert pages.get(target).figures()[name] == value


def test_people_jobs_and_nodes_have_one_total(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    totals = [
        pages.get(f"{path}?range=7d").figures() for path in ("/", "/people", "/people?by=account&", "/jobs", "/nodes")
    ]
    for name in ("held_gpu_h", "idle_gpu_h"):
        assert {figures[name] for figures in totals} == {totals[0][name]}


def test_figures_equal_the_api(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    answer = pages.client.get("/api/v1/summary").get_json()
    hours = answer.get("hours", answer)
    figures = pages.get("/").figures()
    for name in ("capacity_gpu_h", "held_gpu_h", "active_gpu_h", "idle_gpu_h", "energy_kwh", "coverage"):
        assert figures[name] == hours[name]


def test_unknown_is_a_dash_with_its_reason(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    shown = pages.get("/?user=ann")
    assert shown.figures()["capacity_gpu_h"] is None
    (tile,) = (one for one in shown.having("data-figure") if one["data-figure"] == "capacity_gpu_h")
    assert "—" in str(tile["children"])
    assert "unknown" in str(tile["children"])


def test_me_counts_what_the_jobs_page_counts(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    mine = pages.get("/me")
    jobs = pages.get(mine.figure_link("held_gpu_h"))
    for name in ("held_gpu_h", "active_gpu_h", "idle_gpu_h", "unknown_gpu_h"):
        assert jobs.figures()[name] == mine.figures()[name]


def test_cells_and_bars_lead_to_their_rows(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    shown = pages.get("/jobs")
    bars = [
        one
        for one in shown.having("aria-label")
        if "utilization:" in one["aria-label"] and "1 job" in one["aria-label"]
    ]
    assert len(bars) == 2
    for bar in bars:
        assert "1 job held" in pages.get(bar["href"]).text()
