"""Raw rows that are no longer hot become Parquet files, hour by hour; store/merge.py makes one file of a day.

A file is written, put on disk and named first. Then one transaction lists it and deletes what it holds from the hot
table. Whatever moment a crash chooses, the manifest and the hot table say the same rows as before or after, and the
next start removes files that nobody lists.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
import pyarrow as pa

from store import manifest, parquet, repair
from store.catalog import METRICS
from store.columns import HOUR_MS
from store.database import Cursor, Database
from store.dirty import as_of_ms
from store.errors import StoreError, StoreStopped
from store.manifest import DAY_MS
from store.samples import FOLDER
from store.schema import ROW_COLUMNS
from store.settings import StoreSettings
from store.states import ROW_ORDER

ROWS_IN_MEMORY: Final = 4_000_000
"""Rows that are sorted at once, about 400 MB; what is more is done some nodes at a time."""
ORDER: Final = f"node_key, gpu_key, {ROW_ORDER}"


class _Changed(Exception):
    """Rows were changed while they were written to a file; they stay hot."""


Step = Callable[[str], None]
"""Hears the name of each step before it is done: a test ends the process there."""


class Part(msgspec.Struct, frozen=True):
    """Rows that go into one file: those that end in (after_ms, to_ms], up to a generation, between two nodes."""

    after_ms: int
    to_ms: int
    gen: int
    first_node: int
    last_node: int


_PART: Final = "ts_ms > $after_ms AND ts_ms <= $to_ms AND gen <= $gen AND node_key BETWEEN $first_node AND $last_node"


def seal(database: Database, settings: StoreSettings, now_ms: int, step: Step = lambda _: None) -> int:
    """Seals full hours that ended ``seal_after_s`` before the newest data; returns the number of rows.

    Raises StoreError where a file cannot be written; its rows stay hot.
    """
    rows = 0
    with database.cursor() as cursor:
        manifest.sweep(cursor)
        cold_ms = (as_of_ms(cursor) - round(settings.seal_after_s * 1000)) // HOUR_MS * HOUR_MS
        while (part := _next_part(cursor, cold_ms)) is not None:
            sealed = _seal_part(cursor, part, now_ms, step)
            if not sealed:
                break  # its rows changed meanwhile; the next call takes them as they are then
            rows += sealed
    return rows


def _next_part(cursor: Cursor, cold_ms: int) -> Part | None:
    """Returns the cold rows of the oldest day, of as many nodes as are sorted at once; None where none are."""
    with cursor.snapshot():
        oldest_ms = cursor.scalar("SELECT min(ts_ms) FROM hot WHERE ts_ms <= $1", [cold_ms])
        if oldest_ms is None:
            return None
        after_ms = manifest.day_of(oldest_ms) * DAY_MS
        to_ms = min(cold_ms, after_ms + DAY_MS)
        gen = cursor.scalar("SELECT max(gen) FROM hot")
        counted = cursor.tuples(
            "SELECT node_key, count(*) FROM hot WHERE ts_ms > $1 AND ts_ms <= $2 GROUP BY node_key ORDER BY node_key",
            [after_ms, to_ms],
        )
    return Part(after_ms, to_ms, gen, *next(spans(counted, ROWS_IN_MEMORY)))


def _seal_part(cursor: Cursor, part: Part, now_ms: int, step: Step) -> int:
    step("before the file")
    wanted = msgspec.structs.asdict(part)
    names = ", ".join(_known(cursor, wanted))
    statement = f"SELECT {names} FROM hot WHERE {_PART} ORDER BY {ORDER}"  # noqa: S608 - names of the catalogue
    batches = cursor.batches(statement, wanted, parquet.ROW_GROUP)
    file = manifest.new_name(cursor, manifest.day_of(part.to_ms))
    written = write_file(cursor, file, batches, parquet.HOURLY)
    step("before the list")
    try:
        with cursor.transaction():
            manifest.add(cursor, file, written, now_ms)
            repair.sealed(cursor, manifest.day_of(part.to_ms), part.gen)
            gone = cursor.execute(f"DELETE FROM hot WHERE {_PART}", wanted)  # noqa: S608 - a constant
            _expect(gone, written.rows)
            step("before the commit")
    except _Changed:
        (cursor.database.directory / FOLDER / file).unlink(missing_ok=True)
        return 0
    except StoreStopped:
        raise  # whether it was committed is seen at the next start
    except StoreError:
        (cursor.database.directory / FOLDER / file).unlink(missing_ok=True)
        raise
    step("after the commit")
    return written.rows


def _known(cursor: Cursor, wanted: Mapping[str, int]) -> list[str]:
    """Returns the columns of a part that have a value in any row; what no GPU there offers takes no place in a file."""
    counts = ", ".join(f"count({metric.name})" for metric in METRICS)
    [found] = cursor.tuples(f"SELECT {counts} FROM hot WHERE {_PART}", wanted)  # noqa: S608 - names of the catalogue
    return [*ROW_COLUMNS, *(metric.name for metric, count in zip(METRICS, found, strict=True) if count)]


def _expect(deleted: int, written: int) -> None:
    if deleted != written:
        raise _Changed


def spans(counted: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """Yields (first, last) keys that together have at most ``most`` rows, or one key that has more."""
    first, last, rows = None, 0, 0
    for key, count in counted:
        if first is not None and rows + count > most:
            yield first, last
            first, rows = None, 0
        first, last, rows = key if first is None else first, key, rows + count
    if first is not None:
        yield first, last


def write_file(
    cursor: Cursor, file: str, batches: Iterable[pa.RecordBatch], packing: parquet.Packing, *, time: str = "ts_ms"
) -> parquet.Written:
    """Writes rows into a new file (manifest.new_name), not listed yet; raises StoreError where it cannot be written."""
    path = cursor.database.directory / FOLDER / file
    try:
        return parquet.write(path, batches, packing, time=time)
    except OSError as error:
        with contextlib.suppress(OSError):
            path.with_name(f"{path.name}.part").unlink(missing_ok=True)
        raise StoreError(
            f"Rows cannot be sealed into {path} ({error.strerror}); they stay where they are. Free some disk space."
        ) from error
