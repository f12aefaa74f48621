"""Busy cores of a run's nodes on the grid of its other measurements."""

import pytest

from analytics.model import Viewer
from analytics.queries.cores import cores
from store.database import Cursor
from tests.factories.ledger import HOUR, MINUTE, T0, Ledger

ADMIN = Viewer()


@pytest.fixture
def run(cur: Cursor, ledger: Ledger) -> int:
    nodes = [ledger.node("n1"), ledger.node("n2")]
    key, other = ledger.run(), ledger.run()
    for node in nodes:
        ledger.hold(key, ledger.gpu(node))

    def minute(number: int, node: int, cpu_s: float, span_s: float = 60, run: int = key, mem: int | None = 900) -> None:
        times = {"minute_ms": T0 + number * MINUTE, "span_ms": round(span_s * 1000), "cpu_ms": round(cpu_s * 1000)}
        ledger.put("host_minute", node_key=node, run_key=run, mem_max_mib=mem, **times)

    minute(0, nodes[0], 120)
    minute(1, nodes[0], 30, 30, mem=1200)
    minute(1, nodes[0], 90, 30)  # of another segment
    minute(5, nodes[0], 6, 60)
    minute(0, nodes[1], 480, mem=None)
    minute(0, nodes[0], 999, run=other)
    ledger.save(cur)
    return key


def test_a_minute_is_cpu_time_by_measured_time(cur: Cursor, run: int) -> None:
    one, two = cores(cur, ADMIN, run, MINUTE)
    assert (one.node, one.mem_max_mib, two.node, two.mem_max_mib) == ("n1", 1200, "n2", None)
    assert one.at_ms == [T0 + number * MINUTE for number in range(6)]
    assert one.busy_cores == [2.0, 2.0, None, None, None, 0.1]
    assert two.busy_cores == [8.0]


def test_buckets_below_a_minute_have_its_mean_and_longer_ones_the_mean_of_what_was_read(cur: Cursor, run: int) -> None:
    one, _ = cores(cur, ADMIN, run, 30_000)
    assert one.at_ms[:3] == [T0, T0 + 30_000, T0 + 60_000]
    assert one.busy_cores == [2.0] * 4 + [None] * 6 + [0.1] * 2
    one, _ = cores(cur, ADMIN, run, HOUR)
    assert one.at_ms == [T0]
    assert one.busy_cores == [pytest.approx((120 + 30 + 90 + 6) / 180)]


def test_of_somebody_else_s_run_there_is_nothing(cur: Cursor, run: int) -> None:
    assert cores(cur, Viewer(kind="user", user="bob"), run, MINUTE) == []
