"""The hub's ingest thread outlives what a batch does to it, and the Health page says that nothing is stored."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpuledger.ingester
from analytics.schedule import JobRunner
from gpuledger.ingester import Ingester
from store.database import Database
from store.inbox import Inbox
from store.segment import NullReason
from store.settings import StateSettings
from tests.e2e.ledger import until
from tests.store.building import MINUTE, T0, empty_store, packed, segment, steady

YEAR = 365 * 24 * 60 * MINUTE  # in the past of whoever runs the test
ROWS = steady(T0 - YEAR, T0 - YEAR + MINUTE, util_pct=500)

NULL = NullReason(device=0, metric="enc_pct", reason="not_supported", from_ms=T0 - YEAR, to_ms=T0 - YEAR + MINUTE)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with empty_store(tmp_path / "data") as opened:
        yield opened


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    opened = Inbox(tmp_path / "inbox", min_free_bytes=0)
    yield opened
    opened.close()


def rows(database: Database, sql: str) -> list[tuple[Any, ...]]:
    with database.cursor() as cursor:
        return cursor.tuples(sql)


def test_it_goes_on_after_any_failure_and_says_so(
    database: Database, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpuledger.ingester, "RETRY_S", 0.05)
    with database.cursor() as cursor:
        cursor.execute("ALTER TABLE null_reason RENAME TO away")
    ingester = Ingester(database, inbox, StateSettings(), JobRunner(database, lambda: T0, 30), lambda error: None)
    ingester.start()
    [(name, data)] = packed(segment(ROWS, nulls=[NULL]))
    inbox.append(data, name)
    logged = "SELECT ok, error FROM job_log WHERE job = 'ingest' ORDER BY at_ms"
    try:
        [(ok, error)] = until("a failure on record", lambda: rows(database, logged))
        assert (ok, "refused a statement" in error) == (False, True)
        with database.cursor() as cursor:
            cursor.execute("ALTER TABLE away RENAME TO null_reason")
        until("the segment stored", lambda: inbox.waiting == 0)
        until("good again on record", lambda: [ok for ok, _ in rows(database, logged)] == [False, True])
    finally:
        ingester.stop()
    assert rows(database, "SELECT count(*) FROM hot") == [(len(ROWS),)]


def test_segments_that_come_one_by_one_are_stored_together(database: Database, inbox: Inbox) -> None:
    ingester = Ingester(database, inbox, StateSettings(), JobRunner(database, lambda: T0, 30), lambda error: None)
    ingester.start()
    try:
        for seq, (name, data) in enumerate(packed(*(segment(ROWS, seq=seq) for seq in range(6)))):
            inbox.append(data, name)
            if seq == 0:
                until("the first one stored at once", lambda: inbox.waiting == 0)
        until("the others stored", lambda: inbox.waiting == 0)
    finally:
        ingester.stop()
    assert rows(database, "SELECT count(*), count(DISTINCT gen) FROM hot") == [(6 * len(ROWS), 2)]
