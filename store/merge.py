"""A day that is over becomes one file: sorted, packed harder, with every row's run as it is known by then.

The new file is written, put on disk and named first. Then one transaction lists it in the place of the others.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from store import manifest, parquet, repair
from store.database import Cursor, Database
from store.dirty import as_of_ms
from store.errors import StoreError, StoreStopped
from store.manifest import DAY_MS, SealedFile
from store.samples import FOLDER, of_files
from store.schema import SAMPLE_COLUMNS
from store.seal import ORDER, ROWS_IN_MEMORY, Step, spans, write_file
from store.settings import StoreSettings


def merge(database: Database, settings: StoreSettings, now_ms: int, step: Step = lambda _: None) -> int:
    """Makes one file of the files of a day that ended ``merge_after_s`` before the newest data; returns its rows.

    One day a call, the oldest first, and only once nothing has come to it for as long. A day that is one file already
    is written anew where holds of its GPUs changed so that rows get another run.
    """
    wait_ms = round(settings.merge_after_s * 1000)
    with database.cursor() as cursor:
        times = {"day_ms": DAY_MS, "over_ms": as_of_ms(cursor) - wait_ms, "quiet_ms": now_ms - wait_ms}
        while (day := cursor.scalar(_NEXT, times)) is not None:
            with database.readers.reading():
                rows = _merge_day(cursor, day, now_ms, step)
            if rows:
                manifest.sweep(cursor)
                return rows
    return 0


_NEXT = """
SELECT min(day) FROM (
    SELECT day FROM sealed WHERE (day + 1) * $day_ms <= $over_ms GROUP BY day
    HAVING (count(*) > 1 OR day IN (SELECT day FROM repair_day)) AND max(made_ms) <= $quiet_ms)"""


def _merge_day(cursor: Cursor, day: int, now_ms: int, step: Step) -> int:
    old, mark = manifest.files(cursor, day), repair.due(cursor, day)
    with repair.repairing(cursor, _source(cursor, old), day) as (source, changed):
        if len(old) == 1 and not changed:
            with cursor.transaction():
                repair.done(cursor, day, mark)
            return 0
        step("before the file")
        file = manifest.new_name(cursor, day)
        written = write_file(cursor, file, _sorted(cursor, source, old), parquet.DAILY)
    step("before the list")
    try:
        with cursor.transaction():
            manifest.add(cursor, file, written, now_ms)
            manifest.drop(cursor, [each.file for each in old], now_ms)
            repair.follow(cursor, changed)
            repair.done(cursor, day, mark)
            step("before the commit")
    except StoreStopped:
        raise  # whether it was committed is seen at the next start
    except StoreError:
        # On a full disk each try would leave another file of a whole day.
        (cursor.database.directory / FOLDER / file).unlink(missing_ok=True)
        raise
    step("after the commit")
    return written.rows


def _source(cursor: Cursor, old: Sequence[SealedFile]) -> str:
    """Returns a SELECT of the rows of files, with all columns of a row."""
    renamed = bool(cursor.scalar("SELECT count(*) FROM run_alias"))
    by_columns: dict[str, list[str]] = {}
    for each in old:
        by_columns.setdefault(each.columns, []).append(each.file)
    # Rows are put in order by columns that no file may have: the hot table has them all.
    parts = [f"SELECT {', '.join(SAMPLE_COLUMNS)} FROM hot WHERE false"]  # noqa: S608 - names of the catalogue
    parts += [of_files(cursor, columns, files, renamed=renamed) for columns, files in by_columns.items()]
    return " UNION ALL BY NAME ".join(parts)


def _sorted(cursor: Cursor, source: str, old: Sequence[SealedFile]) -> Iterator[pa.RecordBatch]:
    """Yields rows in order, some nodes at a time: a day of a large cluster does not fit in memory.

    Every batch has all columns that any of the files has.
    """
    known = {name for each in old for name in each.columns.split(",")}
    names = ", ".join(name for name in SAMPLE_COLUMNS if name in known)
    counted = cursor.tuples(f"SELECT node_key, count(*) FROM ({source}) GROUP BY node_key ORDER BY node_key")  # noqa: S608
    for first, last in spans(counted, ROWS_IN_MEMORY):
        wanted = f"SELECT {names} FROM ({source}) WHERE node_key BETWEEN $first AND $last ORDER BY {ORDER}"  # noqa: S608
        yield from cursor.batches(wanted, {"first": first, "last": last}, parquet.ROW_GROUP)
