"""What is stored is known by name, told in few rows, the same in any order."""

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.database import Database
from store.ingest import ingest
from store.retention import retain
from store.segment import Segment
from store.sequences import Sequences, Stretch
from store.settings import StoreSettings
from tests.store.building import HOUR, MINUTE, NOW, T0, names_of, packed, row, segment, store

DAY = 24 * HOUR


def one(seq: int, boot: str = "b1", node: str = "n1") -> Segment:
    at_ms = T0 + (seq + 1) * MINUTE
    return segment([row(at_ms)], node=node, boot_id=boot, seq=seq, first_ms=at_ms - MINUTE, last_ms=at_ms)


def stretches(database: Database) -> list[tuple[str, int, int, int]]:
    with database.cursor() as cursor:
        return cursor.tuples("""
            SELECT name || '/' || boot_id, from_seq, to_seq, s.last_ms FROM segment_stretch s JOIN node USING (node_key)
            ORDER BY ALL""")


def told(seqs: Iterable[int]) -> list[Stretch]:
    """The stretches of a set of numbers, found the slow way."""
    ordered = sorted(seqs)
    groups = itertools.groupby(enumerate(ordered), lambda each: each[1] - each[0])
    runs = [[seq for _, seq in group] for _, group in groups]
    return [(run[0], run[-1], T0 + (run[-1] + 1) * MINUTE) for run in runs]


def test_segments_in_order_are_one_row(database: Database) -> None:
    for seq in range(5):
        assert store(database, one(seq)).segments == 1
    assert stretches(database) == [("n1/b1", 0, 4, T0 + 5 * MINUTE)]
    with database.cursor() as cursor:
        assert names_of(cursor) == {one(seq).name for seq in range(5)}


@pytest.mark.parametrize("order", ["01234", "43210", "20413", "31042"])
@pytest.mark.parametrize("size", [1, 3])
def test_any_order_ends_alike(database: Database, order: str, size: int) -> None:
    sent = [one(0), one(1), one(3), one(2), one(1, "b2")]
    ordered = [sent[int(at)] for at in order]
    for at in range(0, len(ordered), size):
        batch = ordered[at : at + size]
        ingest(database, packed(*batch), NOW)
    assert stretches(database) == [("n1/b1", 0, 3, T0 + 4 * MINUTE), ("n1/b2", 1, 1, T0 + 2 * MINUTE)]


@settings(max_examples=200, deadline=None)
@given(batches=st.lists(st.lists(st.integers(0, 12), max_size=8), max_size=6))
def test_every_number_is_taken_once(batches: list[list[int]]) -> None:
    stored: list[Stretch] = []
    known: set[int] = set()
    for batch in batches:
        found = Sequences({("n1", "b1"): stored})
        for seq in batch:
            assert found.add(one(seq), T0 + (seq + 1) * MINUTE) == (seq not in known)
            known.add(seq)
        stored = found._now[("n1", "b1")]
        assert stored == told(known)


def test_a_segment_within_a_batch_and_of_another_start_is_told_apart(database: Database) -> None:
    result = ingest(database, packed(one(0), one(0), one(0, "b2"), one(0, node="n2")), NOW)
    assert (result.segments, result.duplicates) == (3, 1)
    assert store(database, one(0, "b2")).duplicates == 1


def test_it_is_known_as_long_as_its_rows_are_kept(database: Database) -> None:
    kept = StoreSettings(raw_days=1)
    for sent in (one(0), one(1), segment(node="n1", boot_id="b2", seq=0, first_ms=T0, last_ms=T0 + 3 * DAY)):
        store(database, sent)
    retain(database, kept, NOW)
    assert stretches(database) == [("n1/b2", 0, 0, T0 + 3 * DAY)]
    again = store(database, one(0))
    assert (again.segments, again.quarantined) == (0, 1)
