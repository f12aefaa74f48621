"""Windows that do not begin or end at a full hour: minutes complete the hours, and nothing is counted twice."""

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.hours import breakdown, hours
from analytics.queries.people import people
from analytics.queries.timeline import over_time
from analytics.requests import parse_window
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, 360), (30, 360), (0, 330), (30, 330), (17, 311), (10, 20), (70, 90), (59, 61), (-90, 45), (345, 900)],
)
def test_every_minute_is_counted_once(cur: Cursor, ledger: Ledger, start: int, end: int) -> None:
    gpu = ledger.gpu(ledger.node())
    run = ledger.run(end_ms=T0 + 6 * HOUR)
    for hour in range(6):
        ledger.hour(gpu, run, T0 + hour * HOUR, active=60)
    ledger.save(cur)
    window = Window(start_ms=T0 + start * MINUTE, end_ms=T0 + end * MINUTE)
    inside = min(end, 360) - max(start, 0)
    assert hours(cur, ADMIN, window, Filter()).held_gpu_h == inside / 60


def test_an_end_within_a_minute_is_that_of_the_data(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node(last_ms=T0 + 90 * MINUTE + 13))
    run = ledger.run(end_ms=None)
    ledger.hour(gpu, run, T0, active=60)
    ledger.hour(gpu, run, T0 + HOUR, active=30)
    ledger.save(cur)
    window = Window(start_ms=T0, end_ms=T0 + 90 * MINUTE + 13)
    assert hours(cur, ADMIN, window, Filter()).held_gpu_h == 1.5
    assert hours(cur, ADMIN, window.before(), Filter()).held_gpu_h == 0
    assert hours(cur, ADMIN, Window(start_ms=T0 + DAY, end_ms=T0 + 2 * DAY).before(), Filter()).held_gpu_h == 1.5


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "Europe/Berlin"])
def test_days_and_buckets_of_zones_at_half_hours_hold_what_lies_in_them(cur: Cursor, ledger: Ledger, zone: str) -> None:
    """One GPU at work all the time: 24 hours a day, and never more than there was."""
    gpu = ledger.gpu(ledger.node(first_ms=T0 - DAY, last_ms=T0 + 5 * DAY), first_ms=T0 - DAY)
    run = ledger.run(start_ms=T0 - DAY, end_ms=None)
    for hour in range(-24, 5 * 24):
        ledger.hour(gpu, run, T0 + hour * HOUR, active=60)
    ledger.save(cur)
    window = parse_window("2026-11-23", "2026-11-27", None, T0 + 5 * DAY, zone)
    days = breakdown(cur, ADMIN, window, Filter(), "day")
    assert [(row.key, row.held_gpu_h) for row in days] == [(f"2026-11-{day}", 24.0) for day in range(23, 27)]
    [ann] = people(cur, ADMIN, window, Filter())
    assert ann.daily_gpu_h == [24.0] * 4
    for points in (400, 40, 5, 2):
        line = over_time(cur, ADMIN, window, Filter(), max_points=points).rows
        lengths = [(row.end_ms - row.start_ms) / HOUR for row in line]
        assert sum(lengths) == 96
        assert [row.active_gpu_h for row in line] == lengths
        assert [row.unallocated_gpu_h for row in line] == [0.0] * len(line)
