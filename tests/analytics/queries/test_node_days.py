"""The day of nodes as shares of their GPUs: all of their time is in it, and what nobody watched is unknown."""

import pytest

from analytics.model import Window
from analytics.queries.node_days import STATES, node_days
from store import sums
from store.database import Cursor
from tests.factories.ledger import DAY, HOUR, MINUTE, T0, Ledger


@pytest.fixture
def two(cur: Cursor, ledger: Ledger) -> Cursor:
    """n1: one GPU held, idle for half of the first hour, one that nobody holds; n2: nothing was seen."""
    key = ledger.node("n1")
    held, free = ledger.gpu(key), ledger.gpu(key)
    ledger.gpu(ledger.node("n2"))
    run = ledger.run("1", end_ms=T0 + 2 * HOUR)
    ledger.hold(run, held)
    ledger.hour(held, run, T0, active=30, idle=30)
    ledger.hour(held, run, T0 + HOUR, low=60)
    ledger.hour(free, None, T0, stray=15)
    ledger.save(cur)
    cur.execute("UPDATE gpu_hour SET covered_ms = $1 WHERE run_key IS NULL", [HOUR])
    with cur.transaction():
        sums.make(cur, "UTC", T0, T0 + DAY)
    return cur


def told(parts: list[int]) -> dict[str, int]:
    return {str(state): minutes // MINUTE for state, minutes in zip(STATES, parts, strict=True) if minutes}


def test_states_of_each_node_and_hour(two: Cursor) -> None:
    window = Window(start_ms=T0, end_ms=T0 + 2 * HOUR)
    found = node_days(two, window, {"n1": ["n1"], "n2": ["n2"]}, {"n1": 2, "n2": 1})
    assert found.step_ms == HOUR
    assert [[told(part) for part in lane.parts] for lane in found.lanes] == [
        [{"active": 30, "idle": 30, "stray": 15, "unallocated": 45}, {"low": 60, "unknown": 60}],
        [{"unknown": 60}, {"unknown": 60}],
    ]


def test_groups_are_sums_of_their_nodes(two: Cursor) -> None:
    window = Window(start_ms=T0, end_ms=T0 + HOUR)
    (lane,) = node_days(two, window, {"all": ["n1", "n2"]}, {"n1": 2, "n2": 1}).lanes
    assert [told(part) for part in lane.parts] == [
        {"active": 30, "idle": 30, "stray": 15, "unallocated": 45, "unknown": 60}
    ]


def test_many_lanes_have_longer_steps_and_no_more_parts(two: Cursor) -> None:
    window = Window(start_ms=T0, end_ms=T0 + 7 * 24 * HOUR)
    names = {f"lane {number}": ["n1"] for number in range(64)}
    found = node_days(two, window, names, {"n1": 2})
    assert sum(len(lane.parts) for lane in found.lanes) <= 1000
    assert all(sum(map(sum, lane.parts)) == 2 * 7 * 24 * HOUR for lane in found.lanes)
