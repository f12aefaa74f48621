"""The list of sealed files. What it does not list does not exist, so a crash can neither lose nor double a row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from store.database import Cursor
from store.parquet import Written
from store.samples import FOLDER

DAY_MS: Final = 86_400_000


class SealedFile(msgspec.Struct, frozen=True):
    """One line of the manifest; ``day`` is days since the epoch, UTC."""

    file: str
    day: int
    from_ms: int
    to_ms: int
    rows: int
    bytes: int
    columns: str
    made_ms: int


def day_of(ts_ms: int) -> int:
    """Returns the UTC day, since the epoch, of a row that ends at ``ts_ms``: midnight ends a day."""
    return (ts_ms - 1) // DAY_MS


def files(cursor: Cursor, day: int | None = None) -> list[SealedFile]:
    """Returns the files of a day, or all, in the order of their rows."""
    wanted = "SELECT * FROM sealed WHERE $day IS NULL OR day = $day ORDER BY from_ms, file"
    return cursor.rows(wanted, {"day": day}, SealedFile)


def new_name(cursor: Cursor, day: int) -> str:
    """Returns a name that no file has had: ``day=2026-11-23/000042.parquet``."""
    number = cursor.scalar("SELECT nextval('sealed_files')")
    date = cursor.scalar("SELECT strftime(DATE '1970-01-01' + $1::INTEGER, '%Y-%m-%d')", [day])
    return f"day={date}/{number:06d}.parquet"


def add(cursor: Cursor, file: str, written: Written, made_ms: int) -> None:
    """Lists a file that is on disk. Call it inside a transaction."""
    day = day_of(written.to_ms)
    line = SealedFile(file, day, written.from_ms, written.to_ms, written.rows, written.bytes, written.columns, made_ms)
    cursor.execute("INSERT INTO sealed VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", list(msgspec.structs.astuple(line)))


def drop(cursor: Cursor, names: Sequence[str], now_ms: int) -> None:
    """Takes files off the list; :func:`sweep` removes them later. Call it inside a transaction."""
    cursor.execute("DELETE FROM sealed WHERE file IN (SELECT unnest($1::VARCHAR[]))", [list(names)])
    cursor.execute(
        "INSERT OR IGNORE INTO sealed_gone SELECT unnest($names::VARCHAR[]), $now_ms",
        {"names": list(names), "now_ms": now_ms},
    )


def sweep(cursor: Cursor) -> None:
    """Removes files that are off the list, but for those that somebody who read the list before may still open."""
    folder = cursor.database.directory / FOLDER
    may_go = cursor.database.readers.may_go
    gone = [name for (name,) in cursor.tuples("SELECT file FROM sealed_gone") if may_go(name)]
    for name in gone:
        _remove(folder / name)
    if gone:
        with cursor.transaction():
            cursor.execute("DELETE FROM sealed_gone WHERE file IN (SELECT unnest($1::VARCHAR[]))", [gone])


def remove_unlisted(cursor: Cursor) -> int:
    """Removes whatever a crash left that the list does not name; returns how many files.

    Only for the owner of the directory, before anybody reads.
    """
    folder = cursor.database.directory / FOLDER
    listed = {name for (name,) in cursor.tuples("SELECT file FROM sealed UNION ALL SELECT file FROM sealed_minute")}
    left = [path for path in folder.glob("day=*/*") if str(path.relative_to(folder)) not in listed]
    for path in left:
        _remove(path)
    if cursor.scalar("SELECT count(*) FROM sealed_gone"):
        with cursor.transaction():
            cursor.execute("DELETE FROM sealed_gone")
    return len(left)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
