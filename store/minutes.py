"""Minutes for reading: table ``gpu_minute`` and the sealed files of older days, as one view ``minutes``.

A file holds minutes of some nodes of a day. Where one of them is computed anew, the node's minutes of that day come
back into the table first, and table ``thawed_minute`` says that those of the file count no more. The next sealing gives
them a file of their own.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from store.columns import HOUR_MS
from store.database import Cursor
from store.manifest import DAY_MS
from store.samples import FOLDER


class MinuteFile(msgspec.Struct, frozen=True):
    """A line of table ``sealed_minute``; ``day`` is days since the epoch, UTC; columns are joined by commas."""

    file: str
    day: int
    first_node: int
    last_node: int
    rows: int
    bytes: int
    columns: str
    made_ms: int


_FILES: Final = """
SELECT * FROM sealed_minute WHERE (day + 1) * $day_ms > $from_ms AND day * $day_ms < $to_ms ORDER BY file"""

_BACK: Final = f"""
SELECT f.file, list(DISTINCT w.node_key ORDER BY w.node_key) AS nodes
FROM sealed_minute f JOIN work w
    ON w.hour_ms // {DAY_MS} = f.day AND w.node_key BETWEEN f.first_node AND f.last_node
    ANTI JOIN thawed_minute t ON t.file = f.file AND t.node_key = w.node_key
GROUP BY f.file ORDER BY f.file"""  # noqa: S608 - a constant


@contextlib.contextmanager
def minutes(cursor: Cursor, from_ms: int, to_ms: int, folder: str = FOLDER) -> Iterator[None]:
    """Makes ``minutes`` readable by the cursor's statements inside the block, which all see the same rows.

    The view has the columns of ``gpu_minute`` and every minute that begins in [from_ms, to_ms), and maybe others: a
    query gives its own limits. ``folder`` is where in the data directory the sealed files are read.
    """
    with cursor.database.readers.reading(), cursor.snapshot():
        source = _source(cursor, from_ms, to_ms, folder)
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW minutes AS {source}")
        yield
        cursor.execute("DROP VIEW minutes")


def first_ms(cursor: Cursor) -> int | None:
    """Returns the earliest minute that is kept, or the start of its day; None: there is none."""
    found = cursor.scalar(
        "SELECT least((SELECT min(minute_ms) FROM gpu_minute), (SELECT min(day) * $1 FROM sealed_minute))", [DAY_MS]
    )
    return None if found is None else int(found)


def files(cursor: Cursor, from_ms: int, to_ms: int) -> list[MinuteFile]:
    """Returns the files of days that have minutes in [from_ms, to_ms)."""
    return cursor.rows(_FILES, {"day_ms": DAY_MS, "from_ms": from_ms, "to_ms": to_ms}, MinuteFile)


def thaw(cursor: Cursor) -> None:
    """Brings minutes of the nodes and days of table ``work`` back into ``gpu_minute``, where they are sealed.

    Call it in the transaction that computes them anew.
    """
    if not cursor.scalar("SELECT count(*) FROM sealed_minute"):
        return
    found = cursor.tuples(_BACK)
    with cursor.database.readers.reading():
        known = {each.file: each for each in files(cursor, 0, 2**62)} if found else {}
        for file, nodes in found:
            rows = f"{_select(cursor, [known[file]], FOLDER)} WHERE node_key IN (SELECT unnest($1::INTEGER[]))"
            cursor.execute(f"INSERT INTO gpu_minute BY NAME {rows}", [nodes])
            cursor.execute("INSERT INTO thawed_minute SELECT $1, unnest($2::INTEGER[])", [file, nodes])


def counted(cursor: Cursor, file: MinuteFile) -> int:
    """Returns how many rows of a file still count."""
    back = "SELECT node_key FROM thawed_minute WHERE file = $1"
    rows = f"{_select(cursor, [file], FOLDER)} WHERE node_key NOT IN ({back})"
    return int(cursor.scalar(f"SELECT count(*) FROM ({rows})", [file.file]))  # noqa: S608 - names of the manifest


def _source(cursor: Cursor, from_ms: int, to_ms: int, folder: str) -> str:
    parts = ["SELECT * FROM gpu_minute"]
    found = files(cursor, from_ms // HOUR_MS * HOUR_MS, to_ms)
    thawed = {file for (file,) in cursor.tuples("SELECT DISTINCT file FROM thawed_minute")} if found else set()
    by_columns: dict[str, list[MinuteFile]] = {}
    for each in found:
        if each.file in thawed:
            back = f"SELECT node_key FROM thawed_minute WHERE file = '{each.file}'"  # noqa: S608 - our own names
            parts.append(f"{_select(cursor, [each], folder)} WHERE node_key NOT IN ({back})")
        else:
            by_columns.setdefault(each.columns, []).append(each)
    parts += [_select(cursor, alike, folder) for alike in by_columns.values()]
    return " UNION ALL BY NAME ".join(parts)


def _select(cursor: Cursor, alike: Sequence[MinuteFile], folder: str) -> str:
    """Returns a SELECT of the rows of files that have the same columns."""
    root = cursor.database.directory / folder
    paths = ", ".join("'" + str(root / each.file).replace("'", "''") + "'" for each in alike)
    return f"SELECT {alike[0].columns} FROM read_parquet([{paths}])"  # noqa: S608 - names of the manifest
