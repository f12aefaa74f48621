"""Measurements over time: natural units, weighed by time, holes where nothing was read."""

import pytest

from analytics.model import Viewer
from analytics.queries import series as series_queries
from analytics.queries.series import metrics
from store.database import Cursor
from tests.factories.ledger import HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()


@pytest.fixture
def run(cur: Cursor, ledger: Ledger) -> int:
    node = ledger.node(last_ms=T0 + HOUR)
    key = ledger.run()
    ledger.hold(key, ledger.gpu(node))
    ledger.rows(1, key, T0, T0 + 30 * MINUTE, util_pct=500, energy_j=1000, processes=2, event_reasons=4)
    ledger.rows(1, key, T0 + 40 * MINUTE, T0 + HOUR, util_pct=1000, power_w=3005)
    ledger.hour(1, key, T0, active=30, unknown=30, util_pct=50, power_w=100, energy_j=60_000)
    ledger.save(cur)
    return key


NAMES = ("util_pct", "power_w", "energy_j", "processes", "event_reasons")


def test_rows_are_averaged_in_buckets_of_the_resolution(cur: Cursor, run: int) -> None:
    found = metrics(cur, ADMIN, run, NAMES, max_points=13)
    (gpu,) = found.gpus
    assert (found.resolution_ms, found.from_raw, gpu.gpu) == (5 * MINUTE, True, "n1:0")
    assert gpu.at_ms == list(range(T0, T0 + HOUR, 5 * MINUTE))
    assert gpu.values["util_pct"] == [50.0] * 6 + [None] * 2 + [100.0] * 4
    assert gpu.values["power_w"] == [None] * 8 + [300.5] * 4
    assert gpu.values["energy_j"] == [30_000.0] * 6 + [None] * 6
    assert gpu.values["processes"] == [2.0] * 6 + [None] * 6
    assert gpu.values["event_reasons"] == [4.0] * 6 + [None] * 6


def test_never_finer_than_the_data_nor_more_points_than_asked(cur: Cursor, run: int) -> None:
    fine = metrics(cur, ADMIN, run, ("util_pct",))
    assert (fine.resolution_ms, len(fine.gpus[0].at_ms)) == (10_000, 360)
    for points in (1, 2, 7, 100):
        assert len(metrics(cur, ADMIN, run, ("util_pct",), max_points=points).gpus[0].at_ms) <= max(points, 1)


def test_minutes_where_rows_are_many(cur: Cursor, run: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_queries, "MAX_RAW_ROWS", 1)
    found = metrics(cur, ADMIN, run, ("util_pct", "power_w", "energy_j"), max_points=100)
    (gpu,) = found.gpus
    assert (found.resolution_ms, found.from_raw) == (MINUTE, False)
    assert gpu.values["util_pct"] == [50.0] * 30 + [None] * 30
    assert gpu.values["energy_j"][0] == 1000


def test_amounts_by_the_second_do_not_sink_where_a_bucket_is_cut(
    cur: Cursor, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = metrics(cur, ADMIN, run, ("energy_j",), max_points=10, rates=True)  # 10 minutes; the rows end after 30
    assert found.gpus[0].values["energy_j"] == [100.0] * 3 + [None] * 3
    monkeypatch.setattr(series_queries, "MAX_RAW_ROWS", 1)
    found = metrics(cur, ADMIN, run, ("energy_j",), max_points=100, rates=True)
    assert found.gpus[0].values["energy_j"] == [pytest.approx(1000 / 60)] * 30 + [None] * 30


def test_an_unknown_metric_is_refused(cur: Cursor, run: int) -> None:
    with pytest.raises(ValueError, match=r"^util; DROP TABLE run is not a metric of the catalogue\.$"):
        metrics(cur, ADMIN, run, ("util; DROP TABLE run",))


def test_a_run_of_somebody_else_has_no_series(cur: Cursor, run: int) -> None:
    assert metrics(cur, Viewer(kind="user", user="bob"), run, NAMES).gpus == []
