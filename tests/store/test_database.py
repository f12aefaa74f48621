"""One owner of a data directory, cursors for its threads, and sentences for what goes wrong."""

import subprocess
import sys
import threading
import time
from decimal import Decimal
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from store.catalog import METRICS
from store.database import Cursor, Database, database_file
from store.errors import QueryTimeout, SchemaTooNew, StoreBusy, StoreError
from store.ingest import ingest
from store.schema_gpus import rollup_columns
from store.settings import StateSettings, StoreSettings
from tests.store.building import HOUR, NOW, T0, packed, segment, steady

OWNER = """
import sys, time
from pathlib import Path
from store.database import Database
from store.schema_gpus import rollup_columns
database = Database.open(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""


class Pair(msgspec.Struct, frozen=True):
    a: int
    b: str | None


def test_rows_become_structs_by_name(database: Database) -> None:
    with database.cursor() as cursor:
        sql = "SELECT * FROM (VALUES ('x', 1), (NULL, 2)) t(b, a) WHERE a >= $least ORDER BY a"
        assert cursor.rows(sql, {"least": 1}, Pair) == [Pair(1, "x"), Pair(2, None)]
        assert cursor.one(sql, {"least": 2}, Pair) == Pair(2, None)
        assert cursor.one(sql, {"least": 3}, Pair) is None
        assert cursor.arrow(sql, {"least": 2}).to_pylist() == [{"b": None, "a": 2}]
        assert cursor.scalar("SELECT $1 + 1", [41]) == 42
        assert cursor.scalar("SELECT 1 WHERE false") is None
        assert cursor.scalar("SELECT 1.5") == Decimal("1.5")


def test_a_parameter_is_never_sql(database: Database) -> None:
    with database.cursor() as cursor:
        assert cursor.scalar("SELECT $1", ["'; DROP TABLE hot; --"]) == "'; DROP TABLE hot; --"
        assert cursor.scalar("SELECT count(*) FROM hot") == 0


def test_a_python_variable_is_never_a_table(database: Database) -> None:
    secret = pa.table({"a": [1]})
    with database.cursor() as cursor, pytest.raises(StoreError, match="secret"):
        cursor.tuples("SELECT * FROM secret")
    assert secret.num_rows == 1


def test_errors_of_duckdb_do_not_leave_the_store(database: Database) -> None:
    with database.cursor() as cursor:
        for sql in ("SELEC", "SELECT * FROM nowhere", "SELECT 'x'::INTEGER"):
            with pytest.raises(StoreError, match="fault to report"):
                cursor.execute(sql)
        assert cursor.scalar("SELECT 1") == 1


def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    def half(cursor: Cursor) -> None:
        with cursor.transaction():
            cursor.execute("INSERT INTO meta VALUES ('a', 'b')")
            raise ZeroDivisionError

    with database.cursor() as cursor:
        with pytest.raises(ZeroDivisionError):
            half(cursor)
        assert cursor.scalar("SELECT count(*) FROM meta WHERE key = 'a'") == 0


def test_writers_take_turns_and_readers_do_not_wait(database: Database) -> None:
    with database.cursor() as cursor:
        cursor.execute("INSERT INTO meta VALUES ('n', '0')")

    def add() -> None:
        with database.cursor() as mine:
            for _ in range(20):
                with mine.transaction():
                    mine.execute("UPDATE meta SET value = (value::INTEGER + 1)::VARCHAR WHERE key = 'n'")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    with database.cursor() as reader:
        while any(thread.is_alive() for thread in threads):
            assert 0 <= int(reader.scalar("SELECT value FROM meta WHERE key = 'n'")) <= 80
        assert reader.scalar("SELECT value FROM meta WHERE key = 'n'") == "80"


def test_every_thread_with_its_own_cursor_gets_its_own_rows(database: Database) -> None:
    wrong: list[int] = []

    def ask(number: int) -> None:
        for _ in range(30):
            with database.cursor() as cursor:
                found = cursor.tuples("SELECT $1::INTEGER FROM range(500)", [number])
                wrong.extend(value for (value,) in found if value != number)
                wrong.extend([-1] * (500 - len(found)))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_query_that_takes_too_long_is_stopped(database: Database) -> None:
    with database.cursor(timeout_s=0.2) as cursor:
        start = time.monotonic()
        with pytest.raises(QueryTimeout, match=r"after 0\.2 s"):
            cursor.scalar("SELECT count(*) FROM range(100000000) a, range(100000) b")
        assert time.monotonic() - start < 30
        assert cursor.scalar("SELECT 1") == 1


def test_a_second_process_is_told_who_has_the_directory(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "open\n"
    for read_only in (False, True):
        with pytest.raises(StoreBusy, match=f"in use by process {owner.pid}; stop it first\\.$") as refused:
            Database.open(tmp_path, read_only=read_only)
        assert refused.value.pid == owner.pid
    owner.kill()
    owner.communicate()
    Database.open(tmp_path).close()  # the lock of a killed process is gone with it


def test_who_asks_a_store_in_use_is_led_to_its_hub(tmp_path: Path) -> None:
    """The synthetic cluster's hub has its socket in the directory that was named, its store in demo/."""
    (tmp_path / "demo").mkdir()
    (tmp_path / "hub.sock").touch()
    for directory in (tmp_path, tmp_path / "demo"):
        assert f"or ask its hub with --data {tmp_path}." in str(StoreBusy(directory, 1))


def test_readers_share_data_at_rest(tmp_path: Path) -> None:
    Database.open(tmp_path).close()
    with Database.open(tmp_path, read_only=True) as one, Database.open(tmp_path, read_only=True) as two:
        for database in (one, two):
            with database.cursor() as cursor:
                assert cursor.scalar("SELECT count(*) FROM hot") == 0
                with pytest.raises(StoreError):
                    cursor.execute("DELETE FROM hot")
        with pytest.raises(StoreBusy):
            Database.open(tmp_path)


def test_reading_where_there_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no data yet"):
        Database.open(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="choose another directory"):
        Database.open(tmp_path / "file" / "data")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    database_file(tmp_path).write_text("hello " * 1000)
    with pytest.raises(StoreError, match="cannot be opened"):
        Database.open(tmp_path)
    database_file(tmp_path).unlink()
    Database.open(tmp_path).close()  # the lock was let go


def test_a_damaged_database_is_one_sentence(tmp_path: Path) -> None:
    with Database.open(tmp_path) as database, database.cursor() as cursor:
        ingest(database, packed(segment(steady(T0, T0 + HOUR, util_pct=1))), NOW)
        cursor.execute("CHECKPOINT")
    whole = database_file(tmp_path).read_bytes()
    database_file(tmp_path).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match="from a backup"), Database.open(tmp_path) as database:
        database.cursor().execute("SELECT sum(util_pct) FROM hot")
    database_file(tmp_path).write_bytes(whole)
    with Database.open(tmp_path) as database:
        assert database.cursor().scalar("SELECT count(*) FROM hot") == 360


@pytest.mark.parametrize("synthetic", [True, False])
def test_real_and_synthetic_stores_do_not_mix(tmp_path: Path, *, synthetic: bool) -> None:
    with Database.open(tmp_path, synthetic=synthetic) as made:
        assert made.synthetic is synthetic
    with Database.open(tmp_path) as found:
        assert found.synthetic is synthetic
    with pytest.raises(StoreError, match="name another directory"):
        Database.open(tmp_path, synthetic=not synthetic)
    Database.open(tmp_path, synthetic=synthetic).close()


def test_a_later_versions_file_is_left_alone(tmp_path: Path) -> None:
    with Database.open(tmp_path) as made, made.cursor() as cursor:
        cursor.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    for read_only in (False, True):
        with pytest.raises(SchemaTooNew, match="install the version that wrote it"):
            Database.open(tmp_path, read_only=read_only)


def test_a_new_metric_gets_its_columns(tmp_path: Path) -> None:
    """A file made before the catalogue had the metric: as if, by taking its columns away."""
    newest = METRICS[-1]
    with Database.open(tmp_path) as made, made.cursor() as cursor:
        cursor.execute(f"ALTER TABLE hot DROP COLUMN {newest.name}")
        for table in ("gpu_hour", "gpu_minute"):
            for column in rollup_columns(newest):
                cursor.execute(f"ALTER TABLE {table} DROP COLUMN {column.split()[0]}")
    with Database.open(tmp_path) as found, found.cursor() as cursor:
        assert newest.name in cursor.arrow("SELECT * FROM hot").column_names
        for table in ("gpu_hour", "gpu_minute"):
            names = cursor.arrow(f"SELECT * FROM {table}").column_names
            assert all(column.split()[0] in names for column in rollup_columns(newest))


def test_limits_are_taken(tmp_path: Path) -> None:
    settings = StoreSettings(threads=1, memory_limit_mib=300)
    with Database.open(tmp_path, settings=settings) as database, database.cursor() as cursor:
        assert cursor.tuples("SELECT current_setting('threads'), current_setting('memory_limit')") == [(1, "300.0 MiB")]
        assert cursor.scalar("SELECT current_setting('TimeZone')") == "UTC"
        assert cursor.scalar("SELECT current_setting('allocator_background_threads')") is True


def test_thresholds_that_make_no_sense_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="low_pct <= active_pct"):
        msgspec.convert({"low_pct": 30, "active_pct": 20}, StateSettings)
    with pytest.raises(msgspec.ValidationError, match="at least 1"):
        msgspec.convert({"max_segment_mib": 0}, StoreSettings)
