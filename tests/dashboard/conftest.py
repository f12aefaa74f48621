from collections.abc import Callable

import pytest

from store.database import Cursor, Database
from tests.dashboard.pages import Pages
from tests.factories.fixtures import cur, database, ledger
from tests.factories.ledger import DAY, HOUR, T0, Ledger

__all__ = ["cur", "database", "ledger"]

NOW = T0 + 7 * DAY


@pytest.fixture(scope="session")
def application(database: Database) -> Pages:
    """One application for all tests of a process: making it takes longer than asking it for a page."""
    return Pages(database, NOW)


@pytest.fixture
def pages(application: Pages, cur: Cursor) -> Pages:
    """The application over an empty store, remembering nothing; fill the store through ``ledger`` and ``cur``."""
    assert cur.database is application.database
    application.forget()
    return application


@pytest.fixture
def small(ledger: Ledger, cur: Cursor) -> Callable[..., Ledger]:
    """Fills the store with a week of two nodes: one busy run, one idle and running, one unknown; names as given."""

    def fill(name: str = "train", user: str = "ann", account: str = "physics", partition: str = "gpu") -> Ledger:
        nodes = [ledger.node("n1"), ledger.node("n2", last_ms=NOW)]
        gpus = [ledger.gpu(node) for node in nodes for _ in range(2)]
        who = {
            "name": name,
            "user_name": user,
            "account": account,
            "partition": partition,
            "req_gpus": 1,
            "alloc_gpus": 1,
        }
        runs = [
            ledger.run("101", start_ms=T0 + 2 * DAY, end_ms=T0 + 2 * DAY + 12 * HOUR, **who),
            ledger.run("102", start_ms=NOW - 6 * HOUR, end_ms=None, **who),
            ledger.run("103", start_ms=T0 + 5 * DAY, end_ms=T0 + 5 * DAY + 12 * HOUR, **who),
        ]
        for run, gpu in zip(runs, gpus, strict=False):
            ledger.hold(run, gpu)
        for hour in range(12):
            ledger.hour(gpus[0], runs[0], T0 + 2 * DAY + hour * HOUR, active=45, low=15, util_pct=70, energy_j=900_000)
            ledger.hour(gpus[2], runs[2], T0 + 5 * DAY + hour * HOUR, unknown=60)
        for hour in range(6):
            ledger.hour(gpus[1], runs[1], NOW - (6 - hour) * HOUR, idle_held=20, idle=40, util_pct=0, power_w=70)
        times = {"first_ms": T0 + 2 * DAY, "last_ms": T0 + 2 * DAY + 12 * HOUR}
        for pid, program in ((4711, name), (4712, "")):
            row = {"gpu_key": gpus[0], "run_key": runs[0], "pid": pid, "name": program, "processes": 1}
            ledger.put("process", **row, **times, mem_max_mib=20_480)
        ledger.finding(runs[1], "idle_now", gpu_h=6.0, title="Idle right now", closed_ms=None)
        ledger.save(cur)
        return ledger

    return fill
