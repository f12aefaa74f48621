"""The two charts above the table: runs by utilization, and by size and utilization."""

from analytics.model import Filter, Viewer, Window
from analytics.queries.jobs import jobs
from analytics.queries.shapes import hexmap, histogram
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, T0, Ledger

WEEK = Window(start_ms=T0, end_ms=T0 + 7 * DAY)
ADMIN = Viewer()


def some(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    for number, (hours, util) in enumerate([(1, 0), (1, 9.9), (2, 10), (10, 100), (46, 55)]):
        run = ledger.run(start_ms=T0 + number * DAY, end_ms=T0 + number * DAY + hours * HOUR)
        for hour in range(hours):
            ledger.hour(gpu, run, T0 + number * DAY + hour * HOUR, active=60, util_pct=util)
    ledger.hour(0, ledger.run(), T0, unknown=60)
    ledger.save(cur)


def test_utilization_in_ten_bins_and_the_unknown_apart(cur: Cursor, ledger: Ledger) -> None:
    some(cur, ledger)
    found = histogram(cur, ADMIN, WEEK, Filter())
    assert [row.gpu_h for row in found.bins] == [2, 2, 0, 0, 0, 46, 0, 0, 0, 10]
    assert [row.runs for row in found.bins] == [2, 1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert (found.bins[-1].from_pct, found.bins[-1].to_pct) == (90, 100)
    assert (found.unknown_gpu_h, found.unknown_runs) == (1, 1)


def test_a_cell_and_the_filter_that_it_sets_hold_the_same_runs(cur: Cursor, ledger: Ledger) -> None:
    some(cur, ledger)
    cells = hexmap(cur, ADMIN, WEEK, Filter())
    assert sum(cell.runs for cell in cells) == 5
    for cell in cells:
        where = Filter(
            min_gpu_h=cell.from_gpu_h, max_gpu_h=cell.to_gpu_h, min_util_pct=cell.from_pct, max_util_pct=cell.to_pct
        )
        total = jobs(cur, ADMIN, WEEK, where).total
        assert (total.count, total.gpu_h, total.idle_gpu_h) == (cell.runs, cell.gpu_h, cell.idle_gpu_h)
