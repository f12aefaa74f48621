"""Two nodes that report one GPU at a time are told of; a GPU that was moved is not."""

from typing import Any

import pytest

from store.database import Database
from store.segment import Segment
from tests.store.building import HOUR, MINUTE, T0, hold, hours, segment, steady, store

BUSY = {"util_pct": 900}


def minute(node: str, at_ms: int, seq: int = 0, held: bool = True) -> Segment:
    """A minute of a GPU that does not know its node, with a job that calls itself after it."""
    rows = steady(at_ms, at_ms + MINUTE, 0, 0 if held else None, **BUSY)
    return segment(rows, node=node, seq=seq, holdings=[hold(node[1:], at_ms)] if held else [], last_ms=at_ms + MINUTE)


def told(database: Database) -> list[tuple[Any, ...]]:
    with database.cursor() as cursor:
        return cursor.tuples(
            "SELECT node.name, event.ts_ms - $1, gpu_key IS NOT NULL, detail FROM event JOIN node USING (node_key) "
            "WHERE kind = 'gpu_on_two_nodes' ORDER BY ALL",
            [T0],
        )


@pytest.mark.parametrize("together", [True, False])
def test_both_nodes_are_told_of(database: Database, together: bool) -> None:
    pair = [minute("n1", T0), minute("n2", T0)]
    for batch in [pair] if together else [[each] for each in pair]:
        store(database, *batch)
    sentence = "this GPU is reported by {} as well: one machine has one daemon and one name"
    assert told(database) == [
        ("n1", MINUTE, True, sentence.format("n2")),
        ("n2", MINUTE, True, sentence.format("n1")),
    ]
    assert sum(each["held_ms"] for each in hours(database)) <= 2 * MINUTE


def test_it_is_told_again_while_it_lasts_and_not_at_every_segment(database: Database) -> None:
    for at in (0, 5, 10):
        for node in ("n1", "n2"):
            store(database, minute(node, T0 + at * MINUTE, at, held=False))
    assert [(name, at_ms // MINUTE) for name, at_ms, *_ in told(database)] == [
        ("n1", 1),
        ("n1", 11),
        ("n2", 1),
        ("n2", 11),
    ]


def test_a_gpu_that_was_moved_is_on_one_node_at_a_time(database: Database) -> None:
    store(database, minute("n1", T0))
    store(database, minute("n2", T0 + HOUR))
    store(database, minute("n1", T0 + MINUTE, 1), now_ms=T0 + 2 * HOUR)  # late, from before
    assert told(database) == []
