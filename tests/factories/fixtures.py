"""An empty store and a Ledger to fill it."""

from collections.abc import Iterator

import pytest

from store.database import Cursor, Database
from tests.factories.ledger import Ledger


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One store for all tests of a process: making the file takes longer than most tests."""
    with Database.open(tmp_path_factory.mktemp("store")) as opened:
        yield opened


@pytest.fixture
def cur(database: Database) -> Iterator[Cursor]:
    """A cursor on an empty store; what the test wrote is gone afterwards."""
    with database.cursor() as cursor:
        kept = cursor.tuples("SELECT key, value FROM meta")
        yield cursor
        names = cursor.tuples("SELECT table_name FROM duckdb_tables() WHERE estimated_size > 0")
        with cursor.transaction():
            for (name,) in names:
                cursor.execute(f"DELETE FROM {name}")
            for key, value in kept:
                cursor.execute("INSERT INTO meta VALUES ($1, $2)", [key, value])


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()
