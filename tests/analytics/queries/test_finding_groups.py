"""One line for what one change would mend."""

from analytics.model import Filter, Viewer, Window
from analytics.queries.finding_groups import grouped
from store.database import Cursor
from tests.factories.ledger import DAY, T0, Ledger


def test_runs_whose_names_differ_in_numbers_are_one_line(cur: Cursor, ledger: Ledger) -> None:
    for name in ("gnn-traffic-38", "gnn-traffic-39", "gnn-traffic-40", "gnn-weather-38"):
        ledger.finding(ledger.run(name=name), gpu_h=2)
    ledger.finding(ledger.run(name="gnn-traffic-41", user_name="bob"), gpu_h=1)
    ledger.save(cur)
    week = Window(start_ms=T0, end_ms=T0 + 7 * DAY)
    found = [(group.first.user, group.runs, group.gpu_h) for group in grouped(cur, Viewer(), week, Filter())]
    assert found == [("ann", 3, 6), ("ann", 1, 2), ("bob", 1, 1)]
