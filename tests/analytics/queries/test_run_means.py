"""Means of runs from raw rows weigh by time, and show nobody what is another's."""

from typing import Any

from analytics.model import Filter, Viewer, Window
from analytics.queries.run_means import run_means
from store.database import Cursor
from tests.factories.ledger import HOUR, MINUTE, T0, Ledger

WINDOW = Window(start_ms=T0, end_ms=T0 + HOUR)


def _found(cur: Cursor, viewer: Viewer | None = None, window: Window = WINDOW) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = run_means(cur, viewer or Viewer(), window, Filter()).to_pylist()
    return rows


def test_means_weigh_by_time_and_pass_over_what_was_not_read(cur: Cursor, ledger: Ledger) -> None:
    run, gpu = ledger.run(), ledger.gpu(ledger.node(last_ms=T0 + HOUR))
    ledger.hold(run, gpu)
    ledger.rows(gpu, run, T0, T0 + 45 * MINUTE, util_pct=1000, mem_used_mib=4000, power_w=3000)
    ledger.rows(gpu, run, T0 + 45 * MINUTE, T0 + HOUR, util_pct=200, mem_used_mib=None, power_w=1000)
    ledger.save(cur)
    [found] = _found(cur)
    assert found["covered_ms"] == HOUR
    assert (found["util_mean_pct"], found["mem_mean_mib"], found["power_mean_w"]) == (80, 4000, 250)
    [half] = _found(cur, window=Window(start_ms=T0 + 45 * MINUTE, end_ms=T0 + HOUR))
    assert (half["util_mean_pct"], half["mem_mean_mib"]) == (20, None)
    assert half["rows"] < found["rows"]


def test_a_person_sees_own_runs_and_rows_of_nobody_are_nobodys(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node(last_ms=T0 + HOUR))
    hers, his = ledger.run(user_name="ann"), ledger.run(user_name="bob")
    ledger.rows(gpu, hers, T0, T0 + 20 * MINUTE, util_pct=100)
    ledger.rows(gpu, his, T0 + 20 * MINUTE, T0 + 40 * MINUTE, util_pct=300)
    ledger.rows(gpu, None, T0 + 40 * MINUTE, T0 + HOUR, util_pct=500)
    ledger.save(cur)
    assert [row["run_key"] for row in _found(cur)] == [hers, his]
    assert [row["util_mean_pct"] for row in _found(cur, Viewer(kind="user", user="bob"))] == [30]
