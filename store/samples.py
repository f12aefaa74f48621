"""Raw rows for reading: the hot table and the sealed files that the manifest lists, as one view ``samples``."""

import contextlib
from collections.abc import Iterator
from typing import Final

from store.connection import SEALED_FOLDER
from store.database import FILE_NAME, Cursor
from store.schema import SAMPLE_COLUMNS

FOLDER: Final = SEALED_FOLDER
"""Directory of the sealed files in the data directory."""
KEPT_FROM: Final = "raw_from_ms"
"""Key in table meta of the moment from which on raw rows are kept."""
MAX_TIME_MS: Final = 2**62
"""Later than any row."""

_FILES: Final = """
    SELECT columns, list(file ORDER BY file) FROM sealed WHERE to_ms > $from_ms AND from_ms <= $to_ms
    GROUP BY columns ORDER BY columns"""


@contextlib.contextmanager
def samples(cursor: Cursor, from_ms: int, to_ms: int, folder: str = FOLDER) -> Iterator[None]:
    """Makes ``samples`` readable by the cursor's statements inside the block, which all see the same rows.

    The view holds every row that ends in (from_ms, to_ms], and maybe others: a query gives its own limits. It has the
    columns of schema.SAMPLE_COLUMNS. ``folder`` is where in the data directory the sealed files are read.
    """
    with cursor.database.readers.reading(), cursor.snapshot():
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW samples AS {_source(cursor, from_ms, to_ms, folder)}")
        yield
        cursor.execute("DROP VIEW samples")


def kept_from_ms(cursor: Cursor) -> int:
    """Returns the moment from which on raw rows are kept; what is older was removed on purpose. 0: all are there."""
    return int(cursor.scalar("SELECT value FROM meta WHERE key = $1", [KEPT_FROM]) or 0)


def count(cursor: Cursor) -> int:
    """Returns the number of raw rows in the store."""
    return int(cursor.scalar("SELECT (SELECT count(*) FROM hot) + (SELECT coalesce(sum(rows), 0) FROM sealed)::BIGINT"))


def sealed_bytes(cursor: Cursor) -> int:
    """Returns the size of the sealed files, of raw rows and of minutes."""
    every = "SELECT bytes FROM sealed UNION ALL SELECT bytes FROM sealed_minute"
    return int(cursor.scalar(f"SELECT coalesce(sum(bytes), 0)::BIGINT FROM ({every})"))  # noqa: S608 - a constant


def database_bytes(cursor: Cursor) -> int:
    """Returns the size of the database file with its write-ahead log."""
    return sum(file.stat().st_size for file in cursor.database.directory.glob(f"{FILE_NAME}*") if file.is_file())


def _source(cursor: Cursor, from_ms: int, to_ms: int, folder: str) -> str:
    parts = [f"SELECT {', '.join(SAMPLE_COLUMNS)} FROM hot"]  # noqa: S608 - names of the catalogue
    renamed = bool(cursor.scalar("SELECT count(*) FROM run_alias"))
    # Files of one set of columns are read together: nobody has to open them all to find out what they hold.
    for columns, files in cursor.tuples(_FILES, {"from_ms": from_ms, "to_ms": to_ms}):
        parts.append(of_files(cursor, columns, files, renamed=renamed, folder=folder))
    return " UNION ALL BY NAME ".join(parts)


def of_files(cursor: Cursor, columns: str, files: list[str], *, renamed: bool, folder: str = FOLDER) -> str:
    """Returns a SELECT of the rows of sealed files that have these columns, joined by commas.

    ``renamed``: whether runs may have been found to be others since the files were written.
    """
    known = [name for name in columns.split(",") if name in SAMPLE_COLUMNS]
    paths = ", ".join(f"'{_quoted(cursor, folder, file)}'" for file in files)
    source = f"read_parquet([{paths}])"
    if not renamed:
        return f"SELECT {', '.join(known)} FROM {source}"  # noqa: S608 - names of the manifest
    named = ", ".join("coalesce(a.run_key, s.run_key) AS run_key" if name == "run_key" else name for name in known)
    return f"SELECT {named} FROM {source} s LEFT JOIN run_alias a ON a.old_key = s.run_key"  # noqa: S608 - the same


def _quoted(cursor: Cursor, folder: str, file: str) -> str:
    return str(cursor.database.directory / folder / file).replace("'", "''")
