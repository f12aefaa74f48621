"""The database is closed to the rest of the machine: whatever statement comes, by whatever way."""

from pathlib import Path

import pytest

from store.connection import SEALED_FOLDER
from store.database import Database
from store.errors import StoreError
from store.settings import StoreSettings

OUTWARD = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_parquet('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM read_text('{data}/lock')",
    "SELECT * FROM read_text('{data}/raw/../lock')",
    "COPY (SELECT 1) TO '{data}/out.csv'",
    "COPY meta FROM '/etc/passwd'",
    "EXPORT DATABASE '{data}/out'",
    "ATTACH '{data}/other.duckdb'",
    "ATTACH ':memory:' AS other (TYPE sqlite)",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '/tmp/any.duckdb_extension'",
    "CREATE SECRET (TYPE http)",
    "SELECT * FROM read_csv('https://localhost:9/a.csv')",
    "SELECT getenv('HOME')",
    "SET enable_external_access = true",
    "SET GLOBAL allowed_directories = ['/']",
    "SET threads = 1",
    "RESET lock_configuration",
    "PRAGMA memory_limit = '1GB'",
)


@pytest.mark.parametrize("statement", OUTWARD)
def test_no_statement_reaches_beyond_the_store(database: Database, statement: str) -> None:
    with database.cursor() as cursor, pytest.raises(StoreError):
        cursor.tuples(statement.format(data=database.directory))
    assert not list(database.directory.glob("o*"))


def test_what_the_store_needs_itself_still_works(tmp_path: Path) -> None:
    """More than memory holds goes to disk and comes back; an apostrophe in the path is no end of it."""
    folder = tmp_path / "ann's data"
    with Database.open(folder, settings=StoreSettings(memory_limit_mib=64)) as database, database.cursor() as cursor:
        distinct = "SELECT count(*) FROM (SELECT DISTINCT hash(i) FROM range(6_000_000) t(i))"
        assert cursor.scalar(distinct) == 6_000_000
        (folder / SEALED_FOLDER).mkdir()
        sealed = str(folder / SEALED_FOLDER / "a.parquet").replace("'", "''")
        cursor.execute(f"COPY (SELECT 7 AS a) TO '{sealed}'")
        assert cursor.scalar(f"SELECT a FROM read_parquet('{sealed}')") == 7


def test_a_reader_beside_another_in_one_process_is_closed_too(tmp_path: Path) -> None:
    Database.open(tmp_path).close()
    with (
        Database.open(tmp_path, read_only=True),
        Database.open(tmp_path, read_only=True) as second,
        second.cursor() as cursor,
        pytest.raises(StoreError),
    ):
        cursor.tuples("SELECT * FROM read_text('/etc/passwd')")


def test_a_snapshot_only_reads(database: Database) -> None:
    with database.cursor() as cursor, pytest.raises(StoreError, match="read-only"), cursor.snapshot():
        cursor.execute("INSERT INTO meta VALUES ('a', 'b')")
    with database.cursor() as cursor:
        assert cursor.scalar("SELECT count(*) FROM meta WHERE key = 'a'") == 0
