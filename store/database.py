"""The DuckDB file and its one owner; the only place where a connection is made.

DuckDB lets no second process in, not even a reader, and a connection may be used by one thread at a time: so one
Database per process, a cursor per thread or request, and one writing transaction at a time.
"""

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import duckdb
import msgspec
import pyarrow as pa

from store.connection import connect, sentence
from store.errors import QueryTimeout, StoreError
from store.lock import DirectoryLock, refuse_network_file_system
from store.migrations import migrate, refuse_other_version
from store.readers import Readers
from store.sealed_place import place_sealed, refuse_foreign
from store.settings import StoreSettings

Parameters = Sequence[Any] | Mapping[str, Any] | None
T = TypeVar("T", bound=msgspec.Struct)

FILE_NAME: Final = "gpuledger.duckdb"
RESTORING: Final = "restoring"
"""In a data directory into which a backup is being put: what is there is half of one thing and half of another."""


def database_file(directory: Path) -> Path:
    """Returns the path of the DuckDB file of a data directory, whether it exists or not."""
    return directory / FILE_NAME


class Cursor:
    """A connection of its own to the database: for one thread at a time, cheap to make (5 us), a context manager.

    Every method raises StoreError, never duckdb.Error. Parameters are ``$1`` with a list or ``$name`` with a dict.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, database: "Database", timeout_s: float | None) -> None:
        self._connection = connection
        self._timeout_s = timeout_s
        self._in_transaction = False
        self._told: dict[tuple[str, str], list[tuple[Any, ...]]] | None = None
        self.database = database

    def execute(self, sql: str, parameters: Parameters = None) -> int:
        """Runs a statement and returns the number of rows that it changed, 0 where that means nothing."""
        rows = self.tuples(sql, parameters)
        return rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 and isinstance(rows[0][0], int) else 0

    def tuples(self, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """Returns every row as a tuple."""
        with self._translated():
            return self._connection.execute(sql, parameters).fetchall()

    def once(self, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """As :meth:`tuples`; a cursor of one request asks only once in it, since several parts of a page ask alike."""
        known, key = {} if self._told is None else self._told, (sql, repr(parameters))
        return known[key] if key in known else known.setdefault(key, self.tuples(sql, parameters))

    def rows(self, sql: str, parameters: Parameters, kind: type[T]) -> list[T]:
        """Returns every row as a ``kind``, columns going to the fields of the same name."""
        with self._translated():
            found = self._connection.execute(sql, parameters).fetchall()
            names = [column[0] for column in self._connection.description or ()]
        return [kind(**dict(zip(names, row, strict=True))) for row in found]

    def one(self, sql: str, parameters: Parameters, kind: type[T]) -> T | None:
        """Returns the first row as a ``kind``, or None where there is none."""
        found = self.rows(sql, parameters, kind)
        return found[0] if found else None

    def scalar(self, sql: str, parameters: Parameters = None) -> Any:
        """Returns the first column of the first row, or None where there is no row."""
        found = self.tuples(sql, parameters)
        return found[0][0] if found else None

    def arrow(self, sql: str, parameters: Parameters = None) -> pa.Table:
        """Returns the result of a SELECT as an Arrow table."""
        with self._translated():
            return self._connection.sql(sql, params=parameters).to_arrow_table()

    @contextlib.contextmanager
    def table(self, name: str, content: pa.Table) -> Iterator[None]:
        """Makes an Arrow table readable under ``name`` by this cursor's statements inside the block."""
        with self._translated():
            self._connection.register(name, content)
        try:
            yield
        finally:
            # Refused after a failed statement of a transaction: the name then ends with the cursor.
            with contextlib.suppress(duckdb.Error):
                self._connection.unregister(name)

    def batches(self, sql: str, parameters: Parameters, rows: int, *, head: bool = False) -> Iterator[pa.RecordBatch]:
        """Yields the result of a SELECT in batches of at most ``rows`` rows, so that it need not fit into memory.

        With ``head`` the first one is empty, and says what the columns are also where there is no row.
        """
        with self._translated():
            reader = self._connection.sql(sql, params=parameters).to_arrow_reader(rows)
            if head:
                yield pa.RecordBatch.from_pylist([], reader.schema)
            yield from reader

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Self]:
        """All or nothing, and one at a time: DuckDB would fail the second of two that touch the same rows."""
        with self.database.writer, self._begun():
            yield self

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Self]:
        """One view of the store for several statements that read; inside a transaction that one. Waits for nobody."""
        if self._in_transaction:
            yield self
        else:
            with self._begun("BEGIN TRANSACTION READ ONLY"):
                yield self

    @contextlib.contextmanager
    def _begun(self, statement: str = "BEGIN TRANSACTION") -> Iterator[None]:
        with self._translated():
            self._connection.execute(statement)
        self._in_transaction = True
        try:
            yield
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                self._connection.rollback()
            raise
        else:
            with self._translated():
                self._connection.commit()
        finally:
            self._in_transaction = False

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        timer = threading.Timer(self._timeout_s, self._connection.interrupt) if self._timeout_s else None
        if timer:
            timer.start()
        try:
            yield
        except duckdb.InterruptException as error:
            raise QueryTimeout(self._timeout_s or 0) from error
        except duckdb.Error as error:
            raise sentence(error, self.database.directory) from error
        finally:
            if timer:
                timer.cancel()


class Database:
    """An open data directory. Make one with :meth:`open`, close it when done."""

    def __init__(
        self,
        directory: Path,
        connection: duckdb.DuckDBPyConnection,
        lock: DirectoryLock,
        *,
        read_only: bool,
        settings: StoreSettings,
    ) -> None:
        self.directory = directory
        self.read_only = read_only
        self.settings = settings
        self.writer = threading.RLock()
        self.copier = threading.Lock()
        self.readers = Readers()
        self.synthetic = False
        self._connection = connection
        self._lock = lock
        self._guard = threading.Lock()

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        read_only: bool = False,
        synthetic: bool | None = None,
        settings: StoreSettings | None = None,
    ) -> Self:
        """Opens DIR/gpuledger.duckdb, making and migrating it as needed.

        Args:
            directory: the data directory, on a local disk; made where it does not exist, unless ``read_only``.
            read_only: for data at rest; several readers may share it, and none while a hub runs.
            synthetic: True for the synthetic cluster's store, False for a real one; None takes the file as it is and
                makes a real one.
            settings: limits; None takes the defaults.

        Raises:
            StoreBusy: another process has it.
            SchemaTooNew: a later version wrote it.
            StoreError: network file system, no such directory, real where synthetic was asked or the other way round.
        """
        file = database_file(directory)
        if read_only and not file.exists():
            raise StoreError(f"{directory} holds no data yet; start `gpuledger up --data {directory}` first.")
        if (directory / RESTORING).exists():
            raise StoreError(f"A restore into {directory} was interrupted; run `gpuledger restore DIR` again.")
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            refuse_network_file_system(directory)
            lock = DirectoryLock(directory, shared=read_only)
        except OSError as error:
            raise StoreError(f"{directory} cannot be used ({error.strerror}); choose another directory.") from error
        try:
            settings = settings or StoreSettings()
            if settings.sealed_dir and not read_only:
                place_sealed(directory, Path(settings.sealed_dir))
            else:
                refuse_foreign(directory)
            connection = connect(file, read_only=read_only, settings=settings)
            database = cls(directory, connection, lock, read_only=read_only, settings=settings)
        except BaseException:
            lock.release()
            raise
        try:
            database._prepare(file, read_only=read_only, synthetic=synthetic)
        except BaseException:
            database.close()
            raise
        return database

    def cursor(self, timeout_s: float | None = None) -> Cursor:
        """Returns a new cursor; with ``timeout_s`` each of its statements raises QueryTimeout after that long."""
        with self._guard:  # the parent connection is shared by all threads that ask for a cursor
            return Cursor(self._connection.cursor(), self, timeout_s)

    def request(self) -> Cursor:
        """Returns a new cursor for one request that reads, closed after it (Cursor.once)."""
        cursor = self.cursor()
        cursor._told = {}  # noqa: SLF001 - a class of this file
        return cursor

    def close(self) -> None:
        """Closes the file and lets others in. Cursors still open stop working."""
        self._connection.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _prepare(self, file: Path, *, read_only: bool, synthetic: bool | None) -> None:
        with self.cursor() as cursor:
            if not read_only:
                migrate(cursor, file)
            refuse_other_version(cursor, file)
            found = cursor.scalar("SELECT value FROM meta WHERE key = 'synthetic'")
            if found is None:
                found = "1" if synthetic else "0"
                cursor.execute("INSERT INTO meta VALUES ('synthetic', $1)", [found])
        self.synthetic = found == "1"
        if synthetic is not None and synthetic != self.synthetic:
            holds, offered = ("synthetic", "real") if self.synthetic else ("real", "synthetic")
            raise StoreError(
                f"{self.directory} holds {holds} data and {offered} data was to go there; "
                "name another directory with --data."
            )
