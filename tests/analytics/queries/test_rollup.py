"""Windows that do not begin or end at a full hour: minutes complete the hours, and nothing is counted twice."""

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.hours import hours
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
