"""The write-ahead log is folded into the file in time, and nobody waits for it."""

from pathlib import Path

import pytest

from store.checkpoint import fold, log_file
from store.database import Database
from store.errors import StoreError
from store.ingest import ingest
from store.settings import StoreSettings
from tests.store.building import NOW
from tests.store.test_disk_full import first, second

SMALL = StoreSettings(checkpoint_mib=1)


def log_bytes(database: Database) -> int:
    path = log_file(database.directory)
    return path.stat().st_size if path.exists() else 0


def rows(database: Database) -> int:
    with database.cursor() as cursor:
        return int(cursor.scalar("SELECT count(*) FROM hot"))


def test_a_log_that_is_not_overdue_is_left_alone(database: Database) -> None:
    ingest(database, first(), NOW)
    before = log_bytes(database)
    assert before > 100_000
    assert fold(database, SMALL) == 0
    assert log_bytes(database) == before


def test_a_log_beyond_its_threshold_is_folded_at_a_commit(tmp_path: Path) -> None:
    with Database.open(tmp_path, settings=SMALL) as database:
        for batch in (first(), second()):
            ingest(database, batch, NOW)
        assert log_bytes(database) == 0
        assert rows(database) == 28_000


def test_a_reader_keeps_it_from_being_folded_and_that_is_said(database: Database) -> None:
    ingest(database, first(), NOW)
    with database.cursor() as reading, reading.snapshot():
        reading.scalar("SELECT count(*) FROM hot")
        ingest(database, second(), NOW)
        grown = log_bytes(database)
        assert grown > 2 << 20 - 1
        with pytest.raises(StoreError, match="a long query keeps it from being folded"):
            fold(database, SMALL)
        assert log_bytes(database) == grown
    assert fold(database, SMALL) == grown >> 20
    assert log_bytes(database) == 0
    assert rows(database) == 28_000
