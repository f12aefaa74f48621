"""People and accounts: the same hours as the overview, day by day, and nothing said of very little."""

from analytics.model import Filter, Viewer, Window
from analytics.queries.hours import hours
from analytics.queries.people import people
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, T0, Ledger

ADMIN = Viewer()
WEEK = Window(start_ms=T0, end_ms=T0 + 7 * DAY)


def some(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    for user, account, day, count in (
        ("ann", "physics", 0, 24),
        ("ann", "bio", 1, 24),
        ("ann", "bio", 2, 12),
        (None, None, 3, 5),
    ):
        run = ledger.run(user_name=user, account=account, start_ms=T0 + day * DAY, end_ms=T0 + day * DAY + count * HOUR)
        for hour in range(count):
            ledger.hour(gpu, run, T0 + day * DAY + hour * HOUR, active=45, idle=15)
        ledger.finding(run)
    ledger.save(cur)


def test_people_most_hours_first(cur: Cursor, ledger: Ledger) -> None:
    some(cur, ledger)
    ann, nobody = people(cur, ADMIN, WEEK, Filter())
    assert (ann.key, ann.accounts, ann.held_gpu_h, ann.idle_gpu_h) == ("ann", ["bio", "physics"], 60, 15)
    assert (ann.active_share_pct, ann.idle_share_pct, ann.runs, ann.findings, ann.little) == (75, 25, 3, 3, False)
    assert ann.daily_gpu_h == [24, 24, 12, 0, 0, 0, 0]
    assert ann.daily_idle_gpu_h == [6, 6, 3, 0, 0, 0, 0]
    assert (nobody.key, nobody.held_gpu_h, nobody.active_share_pct, nobody.little) == (None, 5, None, True)


def test_accounts_add_up_to_the_overview(cur: Cursor, ledger: Ledger) -> None:
    some(cur, ledger)
    rows = people(cur, ADMIN, WEEK, Filter(), "account")
    assert [(row.key, row.held_gpu_h) for row in rows] == [("bio", 36), ("physics", 24), (None, 5)]
    assert sum(row.idle_gpu_h for row in rows) == hours(cur, ADMIN, WEEK, Filter()).idle_gpu_h


def test_a_person_sees_only_own_hours(cur: Cursor, ledger: Ledger) -> None:
    some(cur, ledger)
    assert [row.key for row in people(cur, Viewer(kind="user", user="ann"), WEEK, Filter())] == ["ann"]
