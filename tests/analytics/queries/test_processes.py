from typing import Any

import pytest

from analytics.model import Viewer
from analytics.queries.job import job
from analytics.queries.processes import ProcessRow, of_run
from store.database import Cursor
from tests.factories.ledger import HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()
ANN = Viewer(kind="user", user="ann")


@pytest.fixture
def ran(cur: Cursor, ledger: Ledger) -> Cursor:
    """Run 1 of ann on two GPUs, with a program of bob on the second, and a run of bob."""
    node = ledger.node("n7")
    gpus = [ledger.gpu(node) for _ in range(2)]
    mine = ledger.run("100", uid=1001)
    his = ledger.run("200", user_name="bob", uid=1002)
    for gpu in gpus:
        ledger.hold(mine, gpu)
        ledger.hour(gpu, mine, T0, active=60)

    def process(gpu: int, run: int | None, pid: int, **more: Any) -> None:
        row = {"gpu_key": gpu, "run_key": run, "pid": pid, "name": "python", "uid": 1001, "processes": 1}
        times = {"first_ms": T0 + pid * MINUTE, "last_ms": T0 + HOUR, "mem_max_mib": 900}
        ledger.put("process", **row | times | more)

    process(gpus[1], mine, 2)
    process(gpus[0], mine, 1)
    process(gpus[0], mine, 3, name="", uid=None, mem_max_mib=None)
    process(gpus[1], mine, 4, name="miner", uid=1002)
    process(gpus[1], mine, 5, name="dockerd", uid=0)
    process(gpus[1], mine, 0, name="", uid=None, processes=12)
    process(gpus[0], his, 6, uid=1002)
    process(gpus[0], None, 7)
    ledger.save(cur)
    return cur


def test_the_processes_of_a_run_by_gpu_and_time(ran: Cursor) -> None:
    found = of_run(ran, ADMIN, 1)
    assert found.items[0] == ProcessRow(
        gpu="n7:0", pid=1, program="python", user="ann", uid=1001, foreign=False, first_ms=T0 + MINUTE,
        last_ms=T0 + HOUR, mem_max_mib=900,
    )  # fmt: skip
    told = [(row.gpu, row.pid, row.program, row.user, row.foreign) for row in found.items]
    assert told == [
        ("n7:0", 1, "python", "ann", False),
        ("n7:0", 3, None, None, False),
        ("n7:1", 2, "python", "ann", False),
        ("n7:1", 4, "miner", "bob", True),
        ("n7:1", 5, "dockerd", None, True),
    ]
    assert found.more == 12
    assert [row.pid for row in of_run(ran, ADMIN, 2).items] == [6]


def test_what_does_not_fit_is_counted(ran: Cursor) -> None:
    found = of_run(ran, ADMIN, 1, limit=2)
    assert ([row.pid for row in found.items], found.more) == ([1, 3], 15)


def test_a_user_is_not_told_what_others_ran(ran: Cursor) -> None:
    found = of_run(ran, ANN, 1)
    assert [(row.pid, row.program, row.user, row.uid) for row in found.items if row.foreign] == [
        (4, None, None, None),
        (5, None, None, None),
    ]
    assert [row.program for row in found.items if not row.foreign] == ["python", None, "python"]


def test_a_run_that_a_viewer_may_not_see_has_none(ran: Cursor) -> None:
    found = of_run(ran, ANN, 2)
    assert (found.items, found.more) == ([], 0)


def test_a_job_holds_them(ran: Cursor) -> None:
    found = job(ran, ADMIN, 1)
    assert found is not None
    assert found.processes == of_run(ran, ADMIN, 1)
