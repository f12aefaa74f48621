"""Reads and writes the runs and allocations of a batch: the SQL side of the run book."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import pyarrow as pa

from store import claims
from store.columns import from_tuples
from store.database import Cursor
from store.evidence import Allocation
from store.identity import Run
from store.runbook import Entry, JobId, RunBook, final
from store.suspensions import Suspension, Suspensions

_SQL_NAMES: Final = {field: f'"{field}"' for field in Run.__struct_fields__}
_ARROW: Final = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}


def _run_schema() -> pa.Schema:
    def arrow(annotation: object) -> pa.DataType:
        return next(kind for python, kind in _ARROW.items() if annotation in (python, python | None))

    return pa.schema([(field.name, arrow(field.type)) for field in msgspec.structs.fields(Run)])


_RUN_SCHEMA: Final = _run_schema()
_SEEN_SCHEMA: Final = pa.schema({"run_key": pa.int32(), "seen_ms": pa.int64()})
_JOB_SCHEMA: Final = pa.schema([_RUN_SCHEMA.field(name) for name in ("kind", "cluster", "job_id_raw")])
_ALLOCATION_SCHEMA: Final = pa.schema(
    {
        "run_key": pa.int32(), "gpu_key": pa.int32(), "node_key": pa.int32(),
        "start_ms": pa.int64(), "end_ms": pa.int64(), "source": pa.string(),
    }
)  # fmt: skip
_SUSPENSION_SCHEMA: Final = pa.schema(
    {
        "run_key": pa.int32(), "ran_s": pa.int32(), "told_start_ms": pa.int64(), "told_end_ms": pa.int64(),
        "start_ms": pa.int64(), "end_ms": pa.int64(),
    }
)  # fmt: skip
_RUNS_SQL: Final = (
    f"SELECT {', '.join(_SQL_NAMES.values())} FROM run "  # noqa: S608 - the fields of Run
    "SEMI JOIN batch_job USING (kind, cluster, job_id_raw)"
)


def load(cursor: Cursor, jobs: Iterable[JobId]) -> RunBook:
    """Returns a book with the stored runs of the given jobs and their allocations."""
    book = RunBook()
    with cursor.table("batch_job", from_tuples(list(jobs), _JOB_SCHEMA)):
        runs = cursor.rows(_RUNS_SQL, None, Run)
    keys = [run.run_key for run in runs]
    allocations, suspensions = _allocations(cursor, keys), _suspensions(cursor, keys)
    for run in runs:
        book.add(Entry(run, allocations.get(run.run_key, {}), suspensions.get(run.run_key), stored=True))
    return book


def open_sessions(cursor: Cursor, node_keys: Iterable[int]) -> list[JobId]:
    """Returns the sessions on the given nodes that are not known to have ended."""
    return cursor.tuples(
        "SELECT DISTINCT r.kind, r.cluster, r.job_id_raw FROM run r JOIN allocation a USING (run_key) "
        "WHERE r.kind = 'session' AND r.end_ms IS NULL AND a.node_key IN (SELECT unnest($1::INTEGER[]))",
        [sorted(set(node_keys))],
    )


def unlisted(cursor: Cursor) -> list[JobId]:
    """Returns the open runs that only polls describe and that the newest poll of every live run may have left out."""
    return cursor.tuples("""
        SELECT DISTINCT r.kind, r.cluster, r.job_id_raw FROM run r
        JOIN (SELECT cluster, max(at_ms) AS at_ms FROM queue_poll WHERE whole GROUP BY cluster) q USING (cluster)
        WHERE r.end_ms IS NULL AND r.db_index IS NULL AND r.polled_ms > 0 AND r.polled_ms < q.at_ms""")


def _suspensions(cursor: Cursor, run_keys: Sequence[int]) -> dict[int, Suspensions]:
    found: dict[int, Suspensions] = {}
    rows = cursor.tuples(
        "SELECT run_key, ran_s, told_start_ms, told_end_ms, start_ms, end_ms FROM suspension "
        "WHERE run_key IN (SELECT unnest($1::INTEGER[]))",
        [list(run_keys)],
    )
    for run_key, ran_s, *rest in rows:
        found.setdefault(run_key, {})[ran_s] = Suspension(*rest)
    return found


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
    gone = [(entry.run.run_key, final(entry).run.run_key) for entry in book.merged()]
    _rename(cursor, gone)
    changed = [entry for entry in touched if entry.is_changed]
    if changed:
        _store(cursor, changed)
    return [entry.run.run_key for entry in changed]


def _store(cursor: Cursor, changed: Sequence[Entry]) -> None:
    _store_runs(cursor, changed)
    rows = [
        (entry.run.run_key, gpu_key, held.node_key, held.start_ms, held.end_ms, held.source)
        for entry in changed
        for gpu_key, held in entry.allocations.items()
        if entry.before is None or entry.before[1].get(gpu_key) != held
    ]
    if rows:
        with cursor.table("batch_allocation", from_tuples(rows, _ALLOCATION_SCHEMA)):
            cursor.execute("INSERT OR REPLACE INTO allocation BY NAME SELECT * FROM batch_allocation")
    dropped = [
        (entry.run.run_key, gpu_key)
        for entry in changed
        if entry.before is not None
        for gpu_key in entry.before[1].keys() - entry.allocations.keys()
    ]
    for key in dropped:  # a poll's word that its node has another one for now: rare
        cursor.execute("DELETE FROM allocation WHERE run_key = $1 AND gpu_key = $2", list(key))
    stretches = [
        (entry.run.run_key, ran_s, each.told_start_ms, each.told_end_ms, each.start_ms, each.end_ms)
        for entry in changed
        for ran_s, each in entry.suspensions.items()
    ]
    if stretches:
        with cursor.table("batch_suspension", from_tuples(stretches, _SUSPENSION_SCHEMA)):
            cursor.execute("INSERT OR REPLACE INTO suspension BY NAME SELECT * FROM batch_suspension")


def _store_runs(cursor: Cursor, changed: Sequence[Entry]) -> None:
    """Of a run that goes on nothing changes but when it was last seen: no index has to be touched for that."""
    others = [entry for entry in changed if not entry.is_only_seen]
    if others:
        runs = [msgspec.structs.astuple(entry.run) for entry in others]
        with cursor.table("batch_run", from_tuples(runs, _RUN_SCHEMA)):
            cursor.execute("INSERT OR REPLACE INTO run BY NAME SELECT * FROM batch_run")
    seen = [(entry.run.run_key, entry.run.seen_ms) for entry in changed if entry.is_only_seen]
    if seen:
        with cursor.table("batch_seen", from_tuples(seen, _SEEN_SCHEMA)):
            cursor.execute("UPDATE run SET seen_ms = b.seen_ms FROM batch_seen b WHERE b.run_key = run.run_key")


_OF_ONE_RUN: Final = (
    *(
        "run",
        "allocation",
        "suspension",
        "footprint_gpu",
        "footprint_run",
        "finding",
        "finding_hour",
        "unjudged",
        "dirty_run",
    ),
)


def _rename(cursor: Cursor, gone: Sequence[tuple[int, int]]) -> None:
    # Two stored runs that later evidence shows to be one: rare, hence a statement each.
    for old, new in gone:
        cursor.execute("UPDATE hot SET run_key = $1, gen = currval('generations') WHERE run_key = $2", [new, old])
        # Rows in sealed files keep the old key, also those that are being sealed now; readers follow the alias.
        cursor.execute("UPDATE run_alias SET run_key = $1 WHERE run_key = $2", [new, old])
        cursor.execute("INSERT OR REPLACE INTO run_alias VALUES ($2, $1)", [new, old])
        claims.rename(cursor, old, new)
        cursor.execute("UPDATE process SET run_key = $1 WHERE run_key = $2", [new, old])
        cursor.execute("UPDATE host_minute SET run_key = $1 WHERE run_key = $2", [new, old])
        for table in _OF_ONE_RUN:
            cursor.execute(f"DELETE FROM {table} WHERE run_key = $1", [old])  # noqa: S608 - names from above
