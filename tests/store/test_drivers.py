"""Driver changes of nodes from segments in any order."""

import itertools

import pytest

from store import drivers
from store.database import Cursor
from store.segment import Device, Segment
from tests.factories.fixtures import cur, database

__all__ = ["cur", "database"]

TOLD = ((1, "570"), (2, None), (3, "580"), (4, "570"))


def segment(at_ms: int, version: str | None) -> Segment:
    device = Device(uuid="GPU-1", driver_version=version)
    times = {"interval_ms": 1, "first_ms": at_ms, "last_ms": at_ms, "written_ms": at_ms, "seq": at_ms}
    return Segment(node="n1", boot_id="b", cluster="c", agent="1", devices=(device,), **times)


def changes(cur: Cursor) -> list[str]:
    rows = cur.tuples("SELECT driver_version FROM node_driver WHERE node_key = 1 ORDER BY from_ms")
    return [version for version, _ in itertools.groupby(version for (version,) in rows)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("at_once", [1, 4])
def test_changes_are_the_same_in_any_order(at_once: int, order: tuple[int, ...], cur: Cursor) -> None:
    for start in range(0, 4, at_once):
        drivers.keep(cur, [segment(*TOLD[place]) for place in order[start : start + at_once]], {"n1": 1})
    # A change that came late leaves what follows it to the next segment to tell.
    drivers.keep(cur, [segment(5, "570")], {"n1": 1})
    assert changes(cur) == ["570", "580", "570"]


def test_a_driver_that_stays_is_one_row(cur: Cursor) -> None:
    for at_ms in range(1, 50):
        drivers.keep(cur, [segment(at_ms, "570")], {"n1": 1})
    assert cur.scalar("SELECT count(*) FROM node_driver") == 1
