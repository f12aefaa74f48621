"""Hours over time: buckets of the zone that add up to the total, and capacity beside them."""

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.hours import hours
from analytics.queries.timeline import over_time
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()


def busy_week(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    run = ledger.run(end_ms=T0 + 7 * DAY)
    for hour in range(7 * 24):
        ledger.hour(gpu, run, T0 + hour * HOUR, active=30, idle=20, unknown=10)
    ledger.hour(gpu, None, T0 + HOUR, stray=0)
    ledger.save(cur)


@pytest.mark.parametrize("points", [400, 50, 8, 3])
def test_buckets_add_up_to_the_total(cur: Cursor, ledger: Ledger, points: int) -> None:
    busy_week(cur, ledger)
    window = Window(start_ms=T0, end_ms=T0 + 7 * DAY)
    line = over_time(cur, ADMIN, window, Filter(), max_points=points)
    total = hours(cur, ADMIN, window, Filter())
    assert len(line.rows) <= points
    for name in ("active", "idle_empty", "unknown", "unallocated", "capacity"):
        assert sum(getattr(row, f"{name}_gpu_h") for row in line.rows) == pytest.approx(getattr(total, f"{name}_gpu_h"))
    assert line.rows[0].start_ms == T0
    assert line.rows[-1].end_ms == T0 + 7 * DAY
    assert all(one.end_ms == two.start_ms for one, two in zip(line.rows, line.rows[1:], strict=False))


def test_a_short_window_is_drawn_by_the_minute(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node(last_ms=T0 + HOUR))
    ledger.hour(gpu, ledger.run(), T0, active=30, idle=20, unknown=10)
    ledger.save(cur)
    line = over_time(cur, ADMIN, Window(start_ms=T0, end_ms=T0 + HOUR), Filter())
    assert (line.bucket_ms, len(line.rows)) == (MINUTE, 60)
    assert [round(row.active_gpu_h * 60) for row in line.rows] == [1] * 30 + [0] * 30
    assert sum(row.capacity_gpu_h or 0 for row in line.rows) == pytest.approx(1)


def test_days_begin_at_the_zones_midnight(cur: Cursor, ledger: Ledger) -> None:
    busy_week(cur, ledger)
    window = Window(start_ms=T0, end_ms=T0 + 7 * DAY, zone="Europe/Berlin")
    line = over_time(cur, ADMIN, window, Filter(), max_points=8)
    assert line.bucket_ms == DAY
    assert [row.start_ms for row in line.rows] == [T0, *(T0 + day * DAY - HOUR for day in range(1, 8))]


def test_capacity_is_told_to_nobody_under_a_filter_on_runs(cur: Cursor, ledger: Ledger) -> None:
    busy_week(cur, ledger)
    line = over_time(cur, ADMIN, Window(start_ms=T0, end_ms=T0 + DAY), Filter(user="ann"))
    assert {row.capacity_gpu_h for row in line.rows} == {None}
    assert sum(row.active_gpu_h for row in line.rows) == 12


def test_nothing_is_capacity_beyond_the_end_of_the_data(cur: Cursor, ledger: Ledger) -> None:
    ledger.gpu(ledger.node(last_ms=T0 + 90 * MINUTE))
    ledger.save(cur)
    line = over_time(cur, ADMIN, Window(start_ms=T0, end_ms=T0 + 10 * HOUR), Filter())
    assert [row.capacity_gpu_h for row in line.rows] == [1, 0.5, *[0] * 8]


def test_an_empty_store_has_a_line_of_nothing(cur: Cursor) -> None:
    line = over_time(cur, ADMIN, Window(start_ms=T0, end_ms=T0 + DAY), Filter())
    assert [(row.active_gpu_h, row.capacity_gpu_h) for row in line.rows] == [(0, None)] * 24


def test_suspended_time_is_a_part_of_capacity_beside_what_is_held(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node(last_ms=T0 + HOUR))
    ledger.hour(gpu, ledger.run(), T0, active=20)
    for table in ("gpu_hour", "gpu_minute"):
        ledger.tables[table][-1]["suspended_ms"] = (30 * MINUTE) if table == "gpu_hour" else 90_000
    ledger.save(cur)
    window = Window(start_ms=T0, end_ms=T0 + HOUR)
    total = hours(cur, ADMIN, window, Filter())
    assert (total.held_gpu_h, total.suspended_gpu_h, total.capacity_gpu_h) == (pytest.approx(1 / 3), 0.5, 1)
    assert total.unallocated_gpu_h == pytest.approx(1 / 6)
    line = over_time(cur, ADMIN, window, Filter())
    assert sum(row.suspended_gpu_h or 0 for row in line.rows) == pytest.approx(0.5)
    assert hours(cur, ADMIN, window, Filter(user="ann")).suspended_gpu_h is None
