"""How the DuckDB file is opened: closed to the rest of the machine, and its errors as sentences."""

from pathlib import Path
from typing import Final

import duckdb

from store.errors import DiskFull, StoreBusy, StoreError, StoreStopped, Unstorable
from store.settings import StoreSettings

SEALED_FOLDER: Final = "raw"
"""Directory of the sealed files in the data directory."""
COPY_FOLDER: Final = "copying"
"""Directory in the data directory in which a copy of the database is made."""

# Whatever a statement says, and whoever wrote it, it reaches no file but sealed ones and a copy of the database, loads
# no code and changes no setting. The order matters: what may be reached cannot be named once the rest is closed. The
# file itself, its log and the directory it spills to stay open to DuckDB.
_CLOSED: Final = (
    "SET GLOBAL TimeZone = 'UTC'",
    # Sealed files never change: what was read of their heads stays good.
    "SET GLOBAL parquet_metadata_cache = true",
    "SET GLOBAL allowed_directories = {directories}",
    "SET GLOBAL enable_external_access = false",
    "SET GLOBAL lock_configuration = true",
)


def connect(file: Path, *, read_only: bool, settings: StoreSettings) -> duckdb.DuckDBPyConnection:
    """Opens the file for this process alone, or for all readers where ``read_only``; raises StoreBusy, StoreError."""
    # Never fetch code from the network, never read a Python variable as a table.
    never = ("autoinstall_known_extensions", "autoload_known_extensions", "python_enable_replacements")
    config: dict[str, str | bool | int | float | list[str]] = {
        **dict.fromkeys(never, False),
        "checkpoint_threshold": f"{settings.checkpoint_mib}MiB",
        "allocator_background_threads": True,  # else what a request had in memory stays with its thread
    }
    if settings.threads:
        config["threads"] = settings.threads
    if settings.memory_limit_mib:
        config["memory_limit"] = f"{settings.memory_limit_mib}MiB"
    folders = [f"{file.parent / name}/".replace("'", "''") for name in (SEALED_FOLDER, COPY_FOLDER)]
    directories = "[" + ", ".join(f"'{folder}'" for folder in folders) + "]"
    try:
        connection = duckdb.connect(file, read_only=read_only, config=config)
        # Readers of one process share what DuckDB has open, already closed by the first.
        if not connection.execute("SELECT current_setting('lock_configuration')").fetchall()[0][0]:
            for statement in _CLOSED:
                connection.execute(statement.format(directories=directories)).fetchall()
    except duckdb.Error as error:
        if "lock on file" in str(error):
            raise StoreBusy(file.parent, _pid_in(str(error))) from error
        first = str(error).partition("\n")[0]
        raise StoreError(f"{file} cannot be opened ({first}); check its owner, or restore it from a backup.") from error
    return connection


def _pid_in(message: str) -> int | None:
    digits = message.partition("(PID ")[2].partition(")")[0]
    return int(digits) if digits.isdigit() else None


_NO_ROOM: Final = ("No space left", "Disk quota exceeded", "File too large")
"""What the system says of a full disk, somewhere in DuckDB's words."""


def sentence(error: duckdb.Error, directory: Path) -> StoreError:
    """Returns what stands for an error of DuckDB: one sentence about the store in ``directory``."""
    first = str(error).partition("\n")[0]
    if isinstance(error, duckdb.FatalException):
        return StoreStopped(directory)
    if any(reason in str(error) for reason in _NO_ROOM):
        return DiskFull(directory, "the disk is full")
    if isinstance(error, duckdb.OutOfMemoryException):
        return StoreError(
            f"The database ran out of memory ({first}); raise store.memory_limit_mib or narrow the query."
        )
    if isinstance(error, duckdb.IOException):
        return StoreError(
            f"The database in {directory} cannot be read or written ({first}); check the disk, and restore the file "
            "from a backup where it is damaged."
        )
    of_a_value = isinstance(error, duckdb.DataError | duckdb.IntegrityError | duckdb.InvalidInputException)
    kind = Unstorable if of_a_value else StoreError
    return kind(f"The database in {directory} refused a statement ({first}); this is a fault to report.")
