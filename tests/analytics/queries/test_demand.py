"""Demand over time: polls stand until the next, gaps are no zeros, and idle GPUs of the same time lie beside it."""

import pytest

from analytics.model import Filter, Viewer, Window
from analytics.queries.demand import Demand, demand
from analytics.queries.timeline import over_time
from store.database import Cursor
from tests.factories.ledger import HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()
WINDOW = Window(start_ms=T0, end_ms=T0 + 4 * HOUR)


def poll(ledger: Ledger, at_ms: int, *pending: tuple[str, str, int, int], node: int = 1, **more: object) -> None:
    """A poll of the hour from ``at_ms``; pending rows are partition, what they wait for, jobs and GPUs."""
    row = {"node_key": node, "cluster": "c1", "at_ms": at_ms, "until_ms": at_ms + HOUR} | more
    ledger.put("queue_poll", **row)
    for partition, waits_for, jobs, gpus in pending:
        counts = {"jobs": jobs, "gpus": gpus}
        ledger.put("queue_pending", node_key=node, at_ms=at_ms, partition=partition, waits_for=waits_for, **counts)


def found(cur: Cursor, ledger: Ledger, where: Filter | None = None, window: Window = WINDOW, points: int = 4) -> Demand:
    ledger.save(cur)
    where = where or Filter()
    return demand(cur, ADMIN, window, where, over_time(cur, ADMIN, window, where, points))


def hourly(**more: object) -> Window:
    return Window(start_ms=T0, end_ms=T0 + 8 * HOUR, **more)


def test_a_poll_stands_until_the_next(cur: Cursor, ledger: Ledger) -> None:
    ledger.node()
    poll(ledger, T0, ("gpu", "hardware", 2, 8), ("gpu", "release", 1, 4))
    poll(ledger, T0 + 15 * MINUTE, ("gpu", "hardware", 1, 4))
    poll(ledger, T0 + HOUR)
    line = found(cur, ledger, window=hourly(), points=8)
    assert (line.known, line.bucket_ms, len(line.rows)) == ("yes", HOUR, 8)
    first, second = line.rows[:2]
    assert (first.waiting_gpus, first.waiting_jobs, first.not_ready_gpus) == (5, 1.25, 1)
    assert (second.waiting_gpus, second.waiting_jobs, second.not_ready_gpus, second.polled_ratio) == (0, 0, 0, 1)


def test_a_gap_is_no_zero(cur: Cursor, ledger: Ledger) -> None:
    ledger.node()
    poll(ledger, T0, ("gpu", "hardware", 1, 4))
    poll(ledger, T0 + 150 * MINUTE, ("gpu", "hardware", 1, 2), until_ms=T0 + 190 * MINUTE)
    line = found(cur, ledger, window=hourly(), points=8)
    assert [row.waiting_gpus for row in line.rows] == [4, None, 2, None, *[None] * 4]
    assert [round(row.polled_ratio, 2) for row in line.rows[:4]] == [1, 0, 0.5, 0.17]


def test_a_poll_from_before_the_window_reaches_into_it(cur: Cursor, ledger: Ledger) -> None:
    ledger.node()
    poll(ledger, T0 - 15 * MINUTE, ("gpu", "hardware", 1, 3))
    assert found(cur, ledger, window=hourly(), points=8).rows[0].waiting_gpus == 3


def test_idle_gpus_stand_beside_in_gpus(cur: Cursor, ledger: Ledger) -> None:
    gpus = [ledger.gpu(ledger.node(last_ms=T0 + 90 * MINUTE)) for _ in range(2)]
    run = ledger.run(end_ms=None)
    for gpu in gpus:
        ledger.hour(gpu, run, T0, idle=15, idle_held=15, active=30)
    ledger.hour(gpus[0], run, T0 + HOUR, idle=30)
    poll(ledger, T0, ("gpu", "hardware", 1, 3), until_ms=T0 + 2 * HOUR)
    line = found(cur, ledger, window=hourly(), points=8)
    assert [row.idle_gpus for row in line.rows[:3]] == [1, 1, None]
    assert [row.waiting_gpus for row in line.rows[:3]] == [3, 3, None]


def test_what_nobody_measured_is_not_idle_and_not_busy(cur: Cursor, ledger: Ledger) -> None:
    gpu = ledger.gpu(ledger.node())
    ledger.hour(gpu, ledger.run(), T0, unknown=60)
    poll(ledger, T0)
    assert [row.idle_gpus for row in found(cur, ledger, window=hourly(), points=8).rows[:2]] == [None, 0]


def test_a_partition_has_the_jobs_that_name_it(cur: Cursor, ledger: Ledger) -> None:
    ledger.node()
    poll(ledger, T0, ("gpu", "hardware", 1, 1), ("debug,gpu", "hardware", 1, 2), ("gpu2", "hardware", 1, 4))
    line = found(cur, ledger, Filter(partition="gpu"), hourly(), 8)
    assert (line.rows[0].waiting_gpus, line.rows[0].waiting_jobs) == (3, 2)


def test_two_hosts_that_read_one_queue_do_not_double_it(cur: Cursor, ledger: Ledger) -> None:
    for node in (ledger.node(), ledger.node()):
        for minute in range(0, 60, 2):
            poll(ledger, T0 + (minute + node) * MINUTE, ("gpu", "hardware", 1, 4), node=node)
    assert found(cur, ledger, window=hourly(), points=8).rows[0].waiting_gpus == 4


def test_clusters_are_added_and_one_that_is_not_read_leaves_a_gap(cur: Cursor, ledger: Ledger) -> None:
    nodes = ledger.node(), ledger.node(cluster="c2")
    poll(ledger, T0, ("gpu", "hardware", 1, 4))
    poll(ledger, T0, ("gpu", "hardware", 1, 2), node=nodes[1], cluster="c2")
    poll(ledger, T0 + HOUR, ("gpu", "hardware", 1, 4))
    assert [row.waiting_gpus for row in found(cur, ledger, window=hourly(), points=8).rows[:2]] == [6, None]
    line = found(cur, ledger, Filter(cluster="c1"), hourly(), 8)
    assert [row.waiting_gpus for row in line.rows[:3]] == [4, 4, None]


def test_why_there_are_no_numbers(cur: Cursor, ledger: Ledger) -> None:
    ledger.node()
    assert found(cur, ledger).known == "never_read"
    poll(ledger, T0 - 30 * HOUR)
    assert found(cur, ledger).known == "not_in_window"
    poll(ledger, T0)
    assert found(cur, ledger).known == "yes"
    assert found(cur, ledger, Filter(cluster="c9")).known == "never_read"
    for where in (Filter(user="ann"), Filter(model="H100"), Filter(node="n1"), Filter(state="running")):
        line = found(cur, ledger, where)
        assert (line.known, {row.waiting_gpus for row in line.rows}) == ("not_of_this", {None})


@pytest.mark.parametrize("viewer", [Viewer("user", "ann"), Viewer("account", "ann", ("physics",))])
def test_the_queue_of_all_is_told_to_nobody_else(cur: Cursor, ledger: Ledger, viewer: Viewer) -> None:
    ledger.node()
    poll(ledger, T0)
    ledger.save(cur)
    line = over_time(cur, viewer, WINDOW, Filter(), 4)
    assert demand(cur, viewer, WINDOW, Filter(), line).known == "not_of_this"
