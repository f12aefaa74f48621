"""What could not be read is tried again after an upgrade: stored once, or refused with the reason of today."""

import pytest

from store.database import Database
from store.ingest import ingest
from store.quarantine import FOLDER, file_name
from store.second_try import Aside, Tried, aside, try_again
from store.segment import encode
from tests.store.building import MINUTE, NOW, T0, packed, segment, steady

GOOD = segment(steady(T0, T0 + MINUTE), seq=1)


def kept(database: Database) -> list[str]:
    return sorted(file.name for file in (database.directory / FOLDER).glob("*"))


def rows(database: Database) -> int:
    with database.cursor() as cursor:
        return int(cursor.scalar("SELECT count(*) FROM hot"))


@pytest.fixture
def unread(database: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A good segment that an earlier version did not understand, beside two that nobody will."""
    with monkeypatch.context() as earlier:
        earlier.setattr("store.parsed.decode", _refuses)
        ingest(database, [(GOOD.name, encode(GOOD))], NOW)
    ingest(database, [("a/../b", b"nothing"), ("c", b"nothing")], NOW + 1)
    return database


def _refuses(_: bytes) -> None:
    from store.segment import SegmentError

    raise SegmentError("segment refused: it is of a later version")


def test_reasons_are_counted(unread: Database) -> None:
    of_version, other = sorted(aside(unread), key=lambda each: each.segments)
    assert of_version == Aside(reason="segment refused: it is of a later version", segments=1, kept=1, newest_ms=NOW)
    assert (other.segments, other.kept, other.newest_ms) == (2, 2, NOW + 1)


def test_what_can_be_read_now_is_stored_once(unread: Database) -> None:
    assert len(kept(unread)) == 3
    tried = try_again(unread, NOW + MINUTE)
    assert (tried.stored, tried.refused, tried.rows, len(tried.reasons)) == (1, 2, 6, 1)
    assert rows(unread) == 6
    assert kept(unread) == sorted([file_name("a/../b"), "c.seg"])
    assert [(each.segments, each.kept) for each in aside(unread)] == [(2, 2)]
    again = try_again(unread, NOW + 2 * MINUTE)
    assert again == Tried(stored=0, refused=2, rows=0, reasons=tried.reasons)
    assert rows(unread) == 6


def test_what_was_delivered_again_meanwhile_is_not_doubled(unread: Database) -> None:
    ingest(unread, packed(GOOD), NOW)
    tried = try_again(unread, NOW + MINUTE)
    assert (tried.stored, tried.rows, rows(unread)) == (1, 0, 6)


def test_a_reason_that_changed_replaces_the_old_one(unread: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setattr("store.parsed.decode", _refuses)
        try_again(unread, NOW + MINUTE)
    assert [(each.reason, each.segments) for each in aside(unread)] == [
        ("segment refused: it is of a later version", 3)
    ]


def test_an_empty_quarantine(database: Database) -> None:
    assert aside(database) == []
    assert try_again(database, NOW) == Tried(stored=0, refused=0, rows=0, reasons=[])
