"""Reads and writes the runs and allocations of a batch: the SQL side of the run book."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import pyarrow as pa

from store.database import Cursor
from store.evidence import Allocation
from store.identity import Run
from store.runbook import Entry, JobId, RunBook

_SQL_NAMES: Final = {field: f'"{field}"' for field in Run.__struct_fields__}
_ARROW: Final = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}


def _run_schema() -> pa.Schema:
    def arrow(annotation: object) -> pa.DataType:
        return next(kind for python, kind in _ARROW.items() if annotation in (python, python | None))

    return pa.schema([(field.name, arrow(field.type)) for field in msgspec.structs.fields(Run)])


_RUN_SCHEMA: Final = _run_schema()
_ALLOCATION_SCHEMA: Final = pa.schema(
    [("run_key", pa.int32()), ("gpu_key", pa.int32()), ("node_key", pa.int32())]
    + [("start_ms", pa.int64()), ("end_ms", pa.int64()), ("source", pa.string())]
)


def load(cursor: Cursor, jobs: Iterable[JobId]) -> RunBook:
    """Returns a book with the stored runs of the given jobs and their allocations."""
    book = RunBook()
    kinds, clusters, ids = zip(*jobs, strict=True) if jobs else ((), (), ())
    wanted = pa.table({"kind": kinds, "cluster": clusters, "job_id_raw": ids}, schema=_RUN_SCHEMA_KEYS)
    with cursor.table("batch_job", wanted):
        runs = cursor.rows(
            f"SELECT {', '.join(_SQL_NAMES.values())} FROM run SEMI JOIN batch_job USING (kind, cluster, job_id_raw)",
            None,
            Run,
        )
    allocations = _allocations(cursor, [run.run_key for run in runs])
    for run in runs:
        book.add(Entry(run, allocations.get(run.run_key, {}), stored=True))
    return book


_RUN_SCHEMA_KEYS: Final = pa.schema([_RUN_SCHEMA.field(name) for name in ("kind", "cluster", "job_id_raw")])


def _allocations(cursor: Cursor, run_keys: Sequence[int]) -> dict[int, dict[int, Allocation]]:
    found: dict[int, dict[int, Allocation]] = {}
    if not run_keys:
        return found
    rows = cursor.tuples(
        "SELECT run_key, gpu_key, node_key, start_ms, end_ms, source FROM allocation "
        "WHERE run_key IN (SELECT unnest($1::INTEGER[]))",
        [list(run_keys)],
    )
    for run_key, gpu_key, *rest in rows:
        found.setdefault(run_key, {})[gpu_key] = Allocation(*rest)
    return found


def write(cursor: Cursor, book: RunBook) -> list[int]:
    """Stores what changed and returns the keys of the changed runs; after it every touched run has its key."""
    touched = book.touched()
    fresh = [entry.run for entry in touched if not entry.run.run_key]
    keys = cursor.tuples("SELECT nextval('run_keys')::INTEGER FROM range($1)", [len(fresh)])
    for run, (key,) in zip(fresh, keys, strict=True):
        run.run_key = key
    gone = [(entry.run.run_key, final_key(entry)) for entry in book.merged()]
    _rename(cursor, gone)
    changed = [entry for entry in touched if entry.is_changed]
    if changed:
        _store(cursor, changed)
    return [entry.run.run_key for entry in changed]


def final_key(entry: Entry) -> int:
    """Returns the key of the run that the entry is or became part of."""
    while entry.merged_into is not None:
        entry = entry.merged_into
    return entry.run.run_key


def _store(cursor: Cursor, changed: Sequence[Entry]) -> None:
    runs = {name: [getattr(entry.run, name) for entry in changed] for name in _RUN_SCHEMA.names}
    with cursor.table("batch_run", pa.table(runs, schema=_RUN_SCHEMA)):
        cursor.execute("INSERT OR REPLACE INTO run BY NAME SELECT * FROM batch_run")
    rows = [
        (entry.run.run_key, gpu_key, held.node_key, held.start_ms, held.end_ms, held.source)
        for entry in changed
        for gpu_key, held in entry.allocations.items()
    ]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(_ALLOCATION_SCHEMA.names)}
    with cursor.table("batch_allocation", pa.table(columns, schema=_ALLOCATION_SCHEMA)):
        cursor.execute("INSERT OR REPLACE INTO allocation BY NAME SELECT * FROM batch_allocation")


def _rename(cursor: Cursor, gone: Sequence[tuple[int, int]]) -> None:
    # Two stored runs that later evidence shows to be one: rare, hence a statement each.
    for old, new in gone:
        cursor.execute("UPDATE hot SET run_key = $1 WHERE run_key = $2", [new, old])
        for table in ("run", "allocation", "footprint_gpu", "footprint_run", "finding", "unjudged", "dirty_run"):
            cursor.execute(f"DELETE FROM {table} WHERE run_key = $1", [old])
