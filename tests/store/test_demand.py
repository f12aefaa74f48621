"""Polls of the queue in the store: whatever the order, however often; what cannot be is left out."""

import itertools
from typing import Any

import pytest

from store.database import Database
from store.ingest import ingest
from store.segment import PendingGpus, QueuePoll, Segment
from tests.store.building import MINUTE, NOW, T0, packed, segment, store

DEMAND = PendingGpus(partition="gpu", gpu_type="a100", jobs=3, gpus=12)


def poll(at_ms: int, *pending: PendingGpus, **more: Any) -> QueuePoll:
    return QueuePoll(**{"at_ms": at_ms, "until_ms": at_ms + 150_000, "pending": pending, "held_gpus": 4, **more})


def polled(seq: int, *polls: QueuePoll, node: str = "login1") -> Segment:
    first_ms = T0 + seq * MINUTE
    return segment(node=node, seq=seq, devices=[], first_ms=first_ms, last_ms=first_ms + MINUTE, queue=polls)


def content(database: Database) -> list[list[tuple[Any, ...]]]:
    with database.cursor() as cursor:
        return [
            cursor.tuples("SELECT * EXCLUDE (node_key) FROM queue_poll ORDER BY ALL"),
            cursor.tuples("SELECT * EXCLUDE (node_key) FROM queue_pending ORDER BY ALL"),
        ]


def test_a_poll_is_kept_as_it_was(database: Database) -> None:
    held = PendingGpus(partition="gpu,debug", waits_for="release", jobs=1, gpus=1)
    store(database, polled(0, poll(T0 + 10, DEMAND, held), poll(T0 + MINUTE)))
    assert content(database) == [
        [("c1", T0 + 10, T0 + 150_010, False, 4), ("c1", T0 + MINUTE, T0 + MINUTE + 150_000, False, 4)],
        [(T0 + 10, "gpu", "a100", "hardware", 3, 12), (T0 + 10, "gpu,debug", None, "release", 1, 1)],
    ]


def test_order_and_repetition_do_not_matter(database: Database) -> None:
    segments = [polled(seq, poll(T0 + seq * MINUTE, *[DEMAND] * (seq % 2))) for seq in range(3)]
    segments.append(polled(0, poll(T0, DEMAND), node="login2"))
    expected = None
    for order in itertools.permutations(segments):
        with database.cursor() as cursor:
            for table in ("queue_poll", "queue_pending", "segment_stretch"):
                cursor.execute(f"DELETE FROM {table}")
        ingest(database, packed(*order[:2]), NOW)
        ingest(database, packed(*order[1:], *order), NOW)
        expected = expected or content(database)
        assert content(database) == expected
    assert expected is not None
    assert [len(rows) for rows in expected] == [4, 2]


def test_a_poll_told_again_under_another_name_is_not_counted_twice(database: Database) -> None:
    store(database, polled(0, poll(T0, DEMAND)))
    store(database, polled(1, poll(T0, DEMAND), poll(T0, DEMAND)))
    assert [len(rows) for rows in content(database)] == [1, 1]


@pytest.mark.parametrize(
    "odd",
    [
        poll(1000, DEMAND),
        poll(NOW + 60 * MINUTE, DEMAND),
        poll(T0, DEMAND, until_ms=T0 - 1),
        poll(-(2**63), DEMAND),
    ],
    ids=["clock-unset", "future", "ends-before", "least"],
)
def test_a_poll_of_no_possible_moment_is_left_out(database: Database, odd: QueuePoll) -> None:
    assert store(database, polled(0, odd, poll(T0))).quarantined == 0
    assert [len(rows) for rows in content(database)] == [1, 0]


def test_what_a_poll_cannot_say_is_left_out_or_bounded(database: Database) -> None:
    odd = [
        PendingGpus(partition="gpu", jobs=0, gpus=1),
        PendingGpus(partition="gpu", jobs=1, gpus=-1),
        PendingGpus(partition="gpu", jobs=1, gpus=2**40),
        PendingGpus(partition="p" * 10_000, waits_for="a later word", jobs=1, gpus=1),
    ]
    store(database, polled(0, poll(T0, *odd, until_ms=T0 + 2**50, held_gpus=-2)))
    [[(_, _, until_ms, _, held)], [(_, partition, _, waits_for, *_)]] = content(database)
    assert (until_ms - T0, held) == (3 * 60 * MINUTE, None)
    assert (len(partition), waits_for) == (2000, "other")
