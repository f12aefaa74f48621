"""Views in natural units: every metric of the catalogue, and the numbers that pages show."""

from typing import Any

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.hours import total
from analytics.queries.jobs import jobs
from store.catalog import METRICS, Kind
from store.database import Database
from store.seal import seal
from store.settings import StoreSettings
from store.views import VIEWS, views
from tests.factories.ledger import Ledger
from tests.store.building import HOUR, MINUTE, NOW, T0, gpu, hold, segment, steady, store, told

MORE = {Kind.GAUGE: ("{}", "{}_max"), Kind.DELTA: ("{}",), Kind.COUNT: ("{}",), Kind.FLAGS: ("{}_s", "{}_seen")}


def read(database: Database, sql: str) -> list[dict[str, Any]]:
    with database.cursor() as cursor, views(cursor):
        return cursor.arrow(sql).to_pylist()


def test_every_metric_of_the_catalogue_is_in_every_view_of_readings(database: Database) -> None:
    kinds = {
        name: {row["column_name"]: row["column_type"] for row in read(database, f"DESCRIBE {name}")} for name in VIEWS
    }
    for metric in METRICS:
        assert kinds["gpu_samples"][metric.name] == ("UINTEGER" if metric.kind == Kind.FLAGS else "DOUBLE"), metric.name
        for name in ("gpu_hours", "gpu_minutes"):
            for column in MORE[metric.kind]:
                assert column.format(metric.name) in kinds[name], (name, metric.name)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_value_is_in_the_unit_of_the_catalogue(database: Database, metric: Any) -> None:
    """The highest value that a metric can have: the narrow type of the store holds it and nothing more."""
    stored = round(metric.high * metric.per_unit)
    rows = steady(T0, T0 + MINUTE, 0, None, MINUTE, **{metric.name: stored})
    store(database, segment(rows))
    if metric.kind == Kind.FLAGS:
        assert read(database, f"SELECT {metric.name} AS value FROM gpu_samples") == [{"value": stored}]
        return
    [sample] = read(database, f"SELECT {metric.name} AS value, {metric.name} + {metric.name} AS twice FROM gpu_samples")
    assert (sample["value"], sample["twice"]) == (metric.high, 2 * metric.high)
    [hour] = read(database, f"SELECT {metric.name} AS value, time_utc::VARCHAR AS at FROM gpu_hours")
    assert hour == {"value": metric.high, "at": "2026-11-23 00:00:00"}


def test_hours_and_runs_are_those_of_the_pages(database: Database) -> None:
    whole, half = gpu("GPU-1"), gpu("GPU-2", slices=3, slices_of=7)
    rows = [
        *steady(T0, T0 + HOUR, 0, 0, MINUTE, util_pct=900, power_w=5000),
        *steady(T0, T0 + HOUR // 2, 1, 0, MINUTE, util_pct=0, mem_used_mib=9000),
    ]
    held = hold("100", T0, T0 + 2 * HOUR, devices=(0, 1))
    accounted = told("100", T0, T0 + 2 * HOUR, alloc_gpus=3)
    store(database, segment(rows, devices=[whole, half], holdings=[held], accounting=[accounted]))
    seal(database, StoreSettings(seal_after_s=0), NOW)
    window = Window(start_ms=T0, end_ms=T0 + 2 * HOUR)
    with database.cursor() as cursor:
        figures = total(cursor, Viewer(), window, Filter())
        [job] = jobs(cursor, Viewer(), window, Filter()).items
    sums = (
        "sum(held_gpu_h) AS held, sum(active_gpu_h) AS active, sum(idle_gpu_h) AS idle, sum(unknown_gpu_h) AS unknown"
    )
    wanted = {
        "held": figures.held_gpu_h, "active": figures.active_gpu_h, "idle": figures.idle_gpu_h,
        "unknown": figures.unknown_gpu_h,
    }  # fmt: skip
    for name in ("gpu_hours", "gpu_minutes", "runs"):
        [found] = read(database, f"SELECT {sums} FROM {name}")
        assert found == pytest.approx(wanted), name
    [run] = read(database, "SELECT * FROM runs")
    assert (run["held_gpu_h"], run["util_pct"]) == pytest.approx((job.gpu_h, job.util_mean_pct))
    assert (run["job_id"], run["user"], run["account"]) == ("100", "ann", "physics")
    assert read(database, "SELECT count(*) AS n, max(power_w) AS w FROM gpu_samples") == [{"n": 90, "w": 500.0}]
    last = read(
        database, "SELECT time_utc::VARCHAR AS at FROM gpu_samples WHERE gpu_uuid = 'GPU-1' ORDER BY ts_ms DESC LIMIT 1"
    )
    assert last == [{"at": "2026-11-23 01:00:00"}]  # a row is of the time that it ends


def test_findings_carry_their_hours_and_their_run(database: Database) -> None:
    ledger = Ledger()
    run = ledger.run("77")
    ledger.finding(run, gpu_h=2.5)
    with database.cursor() as cursor:
        ledger.save(cursor)
    [found] = read(database, 'SELECT job_id, "user", rule, gpu_h, closed_utc FROM findings')
    assert found == {"job_id": "77", "user": "ann", "rule": "gpu_never_used", "gpu_h": 2.5, "closed_utc": None}
