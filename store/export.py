"""Everything as plain files that anybody can read: Parquet or CSV in natural units, without a lock and without us.

Rows are those of the views (views.py), all of one moment, and go through memory some at a time.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from store.aside import keep_sealed, working
from store.connection import COPY_FOLDER, SEALED_FOLDER
from store.copies import refuse_without_room, sync_tree
from store.database import Cursor, Database
from store.errors import StoreError
from store.manifest import DAY_MS
from store.parquet import sync_folder
from store.samples import MAX_TIME_MS
from store.views import views

Form = Literal["parquet", "csv"]
_BATCH: Final = 65_536

_BETWEEN: Final = {
    "runs": "epoch_ms(start_utc) < $to_ms AND (end_utc IS NULL OR epoch_ms(end_utc) > $from_ms)",
    "findings": "epoch_ms(start_utc) < $to_ms AND epoch_ms(end_utc) > $from_ms",
    "gpu_hours": "hour_ms >= $from_ms AND hour_ms < $to_ms",
    "gpu_samples": "ts_ms > $from_ms AND ts_ms <= $to_ms",
}
_ORDER: Final = {"runs": " ORDER BY run_key", "findings": " ORDER BY finding_id", "gpu_hours": "", "gpu_samples": ""}
_DAYS: Final = """
    SELECT DISTINCT day FROM (
        SELECT (ts_ms - 1) // $day_ms AS day FROM hot WHERE ts_ms > $from_ms AND ts_ms <= $to_ms
        UNION SELECT day FROM sealed WHERE to_ms > $from_ms AND from_ms <= $to_ms)
    ORDER BY day"""


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What was written: rows and files of each view."""

    rows: dict[str, int]
    files: int


def export(
    database: Database,
    target: Path,
    form: Form,
    from_ms: int = 0,
    to_ms: int = MAX_TIME_MS,
    step: Callable[[str], None] = lambda _: None,
) -> Exported:
    """Writes runs, findings, hours and raw rows of [from_ms, to_ms) into ``target``, which is empty or does not exist.

    They are written beside it and named at the end, so it is whole or not there. Raises StoreError where it is in use,
    or the disk is full.
    """
    part = target.with_name(f"{target.name}.part")
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise StoreError(f"{target} is not empty; name a directory that is, or does not exist.")
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            working(database) as place,
            database.readers.reading(),
            database.cursor() as cursor,
            cursor.snapshot(),
        ):
            listed = keep_sealed(cursor, place, from_ms, to_ms)
            refuse_without_room(target.parent, sum(each.bytes for each in listed))
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(mode=0o755)
            done = _write_all(cursor, part, form, from_ms, to_ms, step)
        sync_tree(part)
        part.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise StoreError(
            f"Nothing was exported into {target} ({error.strerror or error}); mend that, or name another directory."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return done


def _write_all(
    cursor: Cursor, part: Path, form: Form, from_ms: int, to_ms: int, step: Callable[[str], None]
) -> Exported:
    rows: dict[str, int] = {}
    files = 0
    with views(cursor, from_ms, to_ms, f"{COPY_FOLDER}/{SEALED_FOLDER}"):
        for name in _BETWEEN:
            rows[name] = 0
            for file, first_ms, last_ms in _files(cursor, name, from_ms, to_ms):
                step(file)
                batches = _rows(cursor, name, form, {"from_ms": first_ms, "to_ms": last_ms})
                rows[name] += _write(part / f"{file}.{form}", form, batches)
                files += 1
    return Exported(rows=rows, files=files)


def _files(cursor: Cursor, name: str, from_ms: int, to_ms: int) -> Iterator[tuple[str, int, int]]:
    """Yields the name and the span of each file: one a view, and one a day of raw rows."""
    if name != "gpu_samples":
        yield name, from_ms, to_ms
        return
    for (day,) in cursor.tuples(_DAYS, {"from_ms": from_ms, "to_ms": to_ms, "day_ms": DAY_MS}):
        date = cursor.scalar("SELECT strftime(DATE '1970-01-01' + $1::INTEGER, '%Y-%m-%d')", [day])
        yield f"{name}/{date}", max(from_ms, day * DAY_MS), min(to_ms, (day + 1) * DAY_MS)


def _rows(cursor: Cursor, name: str, form: Form, span: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    columns = "*"
    if form == "csv":
        # What a spreadsheet would take for a formula begins with an apostrophe: people choose job names.
        told = cursor.tuples(f"SELECT column_name, column_type FROM (DESCRIBE {name})")  # noqa: S608 - ours
        texts = [column for column, kind in told if kind == "VARCHAR"]
        replaced = ", ".join(f"""regexp_replace("{each}", '^([=+@\\t\\r-])', '''\\1') AS "{each}" """ for each in texts)
        columns = f"* REPLACE ({replaced})"
    statement = f"SELECT {columns} FROM {name} WHERE {_BETWEEN[name]}{_ORDER[name]}"  # noqa: S608 - constants
    return cursor.batches(statement, span, _BATCH, head=True)


def _write(path: Path, form: Form, batches: Iterator[pa.RecordBatch]) -> int:
    path.parent.mkdir(mode=0o755, exist_ok=True)
    rows = 0
    with path.open("wb") as file:
        os.fchmod(file.fileno(), 0o644)
        schema = _in_utc(next(batches)).schema
        writer = pq.ParquetWriter(file, schema) if form == "parquet" else pyarrow.csv.CSVWriter(file, schema)
        with writer:
            for batch in batches:
                writer.write_batch(_in_utc(batch))
                rows += batch.num_rows
        file.flush()
        os.fsync(file.fileno())
    return rows


def _in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns a batch whose times say that they are of UTC, which no reader then has to know."""
    columns = [
        pc.assume_timezone(column, "UTC") if pa.types.is_timestamp(column.type) else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
