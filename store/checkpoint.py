"""The write-ahead log is folded into the file before it takes long to read again after a crash."""

from pathlib import Path
from typing import Final

from store.database import Database, database_file
from store.errors import StoreError, StoreStopped
from store.settings import StoreSettings

REPLAY_MIB_S: Final = 220
"""How fast the log is read again, on one core of 2026."""
OVERDUE: Final = 2
"""DuckDB folds the log at the first commit past the threshold at which nobody reads; at so many times it, we ask."""


def log_file(directory: Path) -> Path:
    """Returns the path of the write-ahead log of a data directory, whether it exists or not."""
    file = database_file(directory)
    return file.with_name(f"{file.name}.wal")


def fold(database: Database, settings: StoreSettings) -> int:
    """Folds a log that is overdue into the file; returns the MiB folded, 0 where there was nothing to do.

    Raises StoreError where readers that overlap have kept it from being folded: it grows meanwhile, and so does the
    time that a start after a crash takes. Nobody is made to wait for them (FORCE CHECKPOINT would let nobody in).
    """
    path = log_file(database.directory)
    size_mib = path.stat().st_size >> 20 if path.exists() else 0
    if size_mib < OVERDUE * settings.checkpoint_mib:
        return 0
    try:
        with database.cursor() as cursor, database.writer:
            cursor.execute("CHECKPOINT")
    except StoreStopped:
        raise
    except StoreError as error:
        raise StoreError(
            f"The write-ahead log has grown to {size_mib} MiB, since a long query keeps it from being folded into the "
            f"database; until it ends a start after a crash takes {size_mib / REPLAY_MIB_S:.0f} s longer."
        ) from error
    return size_mib
