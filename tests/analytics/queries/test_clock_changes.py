"""Days of 23 and 25 hours, and of a zone that moves by half an hour: no GPU-hour is lost or in two days."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.hours import breakdown, total
from analytics.queries.timeline import over_time
from store.database import Cursor
from tests.factories.ledger import HOUR, MINUTE, Ledger

CHANGES = (
    ("Europe/Helsinki", "2026-03-29", 23.0),
    ("Europe/Helsinki", "2026-10-25", 25.0),
    ("America/New_York", "2026-03-08", 23.0),
    ("America/New_York", "2026-11-01", 25.0),
    ("Australia/Lord_Howe", "2026-04-05", 24.5),
    ("Australia/Lord_Howe", "2026-10-04", 23.5),
    ("America/Santiago", "2026-09-06", 23.0),  # its midnight does not exist
    ("Asia/Kathmandu", "2026-06-01", 24.0),  # no change, and a quarter of an hour off
)


def midnight(day: str, zone: str, after: int = 0) -> int:
    local = datetime.fromisoformat(day) + timedelta(days=after)
    return int(local.replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def hours_between(start_ms: int, end_ms: int) -> Iterator[int]:
    yield from range(start_ms // HOUR * HOUR, end_ms, HOUR)


@pytest.mark.parametrize(("zone", "day", "length_h"), CHANGES)
def test_a_day_has_the_hours_that_it_has(cur: Cursor, ledger: Ledger, zone: str, day: str, length_h: float) -> None:
    """A GPU that is held all the time, its minutes half busy: a day counts as many hours as its clock went on."""
    first, last = midnight(day, zone, -1), midnight(day, zone, 2)
    gpu = ledger.gpu(ledger.node(first_ms=first - HOUR, last_ms=last + HOUR), first_ms=first - HOUR)
    run = ledger.run(start_ms=first - HOUR, end_ms=last + HOUR)
    for hour_ms in hours_between(first - HOUR, last + HOUR):
        ledger.hour(gpu, run, hour_ms, active=30, idle=30)
    ledger.save(cur)
    # Minutes of an hour are active first; that a change lies within an hour moves both kinds of time, not their sum.
    window = Window(start_ms=first, end_ms=last, zone=zone)
    rows = {row.key: row for row in breakdown(cur, Viewer(), window, Filter(), "day")}
    assert len(rows) == 3
    assert rows[day].held_gpu_h == pytest.approx(length_h)
    assert rows[day].active_gpu_h + rows[day].idle_gpu_h == pytest.approx(length_h)
    whole = total(cur, Viewer(), window, Filter())
    assert sum(row.held_gpu_h for row in rows.values()) == pytest.approx(whole.held_gpu_h) == (last - first) / HOUR
    assert sum(row.idle_gpu_h for row in rows.values()) == pytest.approx(whole.idle_gpu_h)

    line = over_time(cur, Viewer(), window, Filter(), max_points=3)
    assert [row.start_ms for row in line.rows][:3] == [first, midnight(day, zone), midnight(day, zone, 1)]
    assert sum(row.active_gpu_h + row.idle_held_gpu_h + row.idle_empty_gpu_h for row in line.rows) == pytest.approx(
        whole.held_gpu_h
    )


def test_what_the_table_says_of_lengths() -> None:
    for zone, day, length_h in CHANGES:
        assert (midnight(day, zone, 1) - midnight(day, zone)) / HOUR == length_h, zone
        assert midnight(day, zone) % MINUTE == 0
