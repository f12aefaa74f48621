"""People: one scale for all, shares that add up, and whose hours are counted said in words."""

import re
from collections.abc import Callable

from store.database import Cursor
from tests.dashboard.pages import Pages
from tests.factories.ledger import HOUR, T0, Ledger


def test_the_scope_is_in_the_sentence(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    assert "of account physics held" in pages.get("/people?account=physics&range=7d").text()
    assert "of account" not in pages.get("/people?range=7d").text()


def test_columns_of_days_have_one_scale(pages: Pages, ledger: Ledger, cur: Cursor) -> None:
    gpu = ledger.gpu(ledger.node())
    for number, (user, idle) in enumerate((("ann", 60), ("bob", 15))):
        run = ledger.run(user_name=user)
        ledger.hour(gpu, run, T0 + number * HOUR, idle=idle, active=60 - idle)
    ledger.save(cur)
    strips = [one for one in pages.get("/people?range=7d").walk() if one.get("className") == "sparkline"]
    tops = [min(float(top) for top in re.findall(r"% (\d+)%", one["style"]["clipPath"])) for one in strips]
    assert sorted(tops) == [0, 75]  # from above: the whole height, and a quarter of it


def test_a_name_leads_to_its_overview_and_its_runs(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    found = pages.get("/people?range=7d").links()
    assert {link.partition("?")[0] for link in found if "user=ann" in link} == {"/", "/jobs"}


def test_a_persons_overview_says_that_capacity_is_nobodys(pages: Pages, small: Callable[..., Ledger]) -> None:
    small()
    shown = pages.get("/?range=7d&user=ann")
    assert "belongs to the whole cluster" in shown.text()
    assert "too little for a share of capacity" not in shown.text()
    [tile] = [one for one in shown.having("data-figure") if one["data-figure"] == "capacity_gpu_h"]
    assert "share" not in [child["props"].get("className") for child in tile["children"] if child]


def test_runs_that_wait_to_be_judged_are_no_good_news(pages: Pages, small: Callable[..., Ledger], cur: Cursor) -> None:
    small()
    assert "to judge" not in pages.get("/people?range=7d").text()
    keys = [key for (key,) in cur.tuples("SELECT run_key FROM run WHERE user_name = 'ann'")]
    cur.execute("DELETE FROM finding")
    for key in keys:
        cur.execute("INSERT OR IGNORE INTO dirty_run VALUES ($1, 1, NULL)", [key])
        cur.execute("UPDATE footprint_run SET judged = FALSE WHERE run_key = $1", [key])
    assert f"{len(keys)} to judge" in pages.get("/people?range=7d").text()
