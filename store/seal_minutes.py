"""Minutes of days that are a week old move into Parquet files, as raw rows do; readers go by store/minutes.py.

A file is written, put on disk and named first. Then one transaction lists it and deletes what it holds from the table.
"""

from typing import Final

import msgspec

from store import manifest, minutes, parquet
from store.database import Cursor, Database
from store.dirty import as_of_ms
from store.errors import StoreError, StoreStopped
from store.manifest import DAY_MS
from store.samples import FOLDER, MAX_TIME_MS
from store.seal import Step, spans, write_file
from store.settings import StoreSettings

ROWS_A_FILE: Final = 1_000_000
"""A day of 700 GPUs: what is looked at again before it is deleted, for which others wait a tenth of a second."""
_KEYS: Final = ("minute_ms", "node_key", "gpu_key", "run_key")
_PART: Final = "minute_ms >= $from_ms AND minute_ms < $to_ms AND node_key BETWEEN $first_node AND $last_node"
# What is deleted must be what was written: rows of late data may have been computed anew meanwhile.
_CONTENT: Final = f"SELECT count(*), bit_xor(hash(m)) FROM gpu_minute m WHERE {_PART}"  # noqa: S608 - a constant


class _Part(msgspec.Struct, frozen=True):
    """Minutes of a day, of the nodes between two."""

    from_ms: int
    to_ms: int
    first_node: int
    last_node: int


def seal_minutes(database: Database, settings: StoreSettings, now_ms: int, step: Step = lambda _: None) -> int:
    """Seals the minutes of days that ended ``minute_seal_days`` before the newest data; returns the number of rows.

    Raises StoreError where a file cannot be written; its rows stay in the table.
    """
    rows = 0
    with database.cursor() as cursor:
        manifest.sweep(cursor)
        _retire(cursor, now_ms)
        today = manifest.day_of(min(as_of_ms(cursor), now_ms) + 1)
        to_ms = (today - settings.minute_seal_days) * DAY_MS
        while (part := _next_part(cursor, to_ms)) is not None:
            sealed = _seal_part(cursor, part, now_ms, step)
            if not sealed:
                break  # computed anew meanwhile; the next call takes them as they are then
            rows += sealed
    return rows


def _next_part(cursor: Cursor, to_ms: int) -> _Part | None:
    """Returns minutes of the oldest day of which nothing waits to be computed anew."""
    day = cursor.scalar(
        "SELECT min(minute_ms // $day_ms) FROM gpu_minute WHERE minute_ms < $to_ms "
        "AND minute_ms // $day_ms NOT IN (SELECT hour_ms // $day_ms FROM dirty_hour)",
        {"day_ms": DAY_MS, "to_ms": to_ms},
    )
    if day is None:
        return None
    from_ms, to_ms = day * DAY_MS, (day + 1) * DAY_MS
    counted = cursor.tuples(
        "SELECT node_key, count(*) FROM gpu_minute WHERE minute_ms >= $1 AND minute_ms < $2 GROUP BY ALL ORDER BY ALL",
        [from_ms, to_ms],
    )
    first, last = next(spans(counted, ROWS_A_FILE))
    return _Part(from_ms, to_ms, first, last)


def _seal_part(cursor: Cursor, part: _Part, now_ms: int, step: Step) -> int:
    step("before the file")
    wanted, day = msgspec.structs.asdict(part), part.from_ms // DAY_MS
    file = manifest.new_name(cursor, day)
    with cursor.snapshot():
        content = cursor.tuples(_CONTENT, wanted)
        columns = _known(cursor, wanted)
        statement = f"SELECT {columns} FROM gpu_minute WHERE {_PART} ORDER BY node_key, gpu_key, minute_ms, run_key"  # noqa: S608
        batches = cursor.batches(statement, wanted, parquet.ROW_GROUP)
        written = write_file(cursor, file, batches, parquet.DAILY, time="minute_ms")
    step("before the list")
    path = cursor.database.directory / FOLDER / file
    try:
        with cursor.transaction():
            if cursor.tuples(_CONTENT, wanted) != content:
                path.unlink(missing_ok=True)
                return 0
            line = [file, day, part.first_node, part.last_node, written.rows, written.bytes, written.columns, now_ms]
            cursor.execute("INSERT INTO sealed_minute VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", line)
            cursor.execute(f"DELETE FROM gpu_minute WHERE {_PART}", wanted)  # noqa: S608 - a constant
            step("before the commit")
    except StoreStopped:
        raise  # whether it was committed is seen at the next start
    except StoreError:
        path.unlink(missing_ok=True)
        raise
    step("after the commit")
    return written.rows


def _retire(cursor: Cursor, now_ms: int) -> None:
    """Takes files off the list whose nodes were all computed anew."""
    for each in minutes.files(cursor, 0, MAX_TIME_MS):
        thawed = cursor.scalar("SELECT count(*) FROM thawed_minute WHERE file = $1", [each.file])
        if thawed and not minutes.counted(cursor, each):
            with cursor.transaction():
                cursor.execute("INSERT OR IGNORE INTO sealed_gone VALUES ($1, $2)", [each.file, now_ms])
                cursor.execute("DELETE FROM thawed_minute WHERE file = $1", [each.file])
                cursor.execute("DELETE FROM sealed_minute WHERE file = $1", [each.file])


def _known(cursor: Cursor, wanted: dict[str, int]) -> str:
    """Returns the columns that have a value in any row of the part, joined by commas."""
    names = [name for (name,) in cursor.tuples("SELECT column_name FROM (DESCRIBE gpu_minute)")]
    counts = ", ".join(f"count({name})" for name in names)
    [found] = cursor.tuples(f"SELECT {counts} FROM gpu_minute WHERE {_PART}", wanted)  # noqa: S608 - names of columns
    return ", ".join(name for name, count in zip(names, found, strict=True) if count or name in _KEYS)
