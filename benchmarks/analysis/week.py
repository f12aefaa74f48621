"""A store that holds a week of a fleet, sealed: day files as the merge leaves them, runs, allocations, hours."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.telemetry import CATALOGUE, Fleet, Plan, plan, rows
from store import manifest, parquet
from store.catalog import BY_NAME
from store.columns import ARROW_TYPE, HOUR_MS
from store.database import Cursor, Database
from store.manifest import DAY_MS
from store.rollup import roll_up
from store.samples import FOLDER
from store.schema import SAMPLE_COLUMNS

CLUSTER: Final = "bench"
_MADE_FOR: Final = "benchmark"
_ROLLED_AT_ONCE: Final = 256
_KEYS: Final = {"node_key": pa.int32(), "gpu_key": pa.int32(), "run_key": pa.int32()}
_TIMES: Final = {"ts_ms": pa.int64(), "span_ms": pa.uint32()}
# A column without any value is not in a sealed file.
_SCHEMA: Final = pa.schema(
    {**_TIMES, **_KEYS, **{name: ARROW_TYPE[BY_NAME[name].dtype] for name in SAMPLE_COLUMNS if name in CATALOGUE}}
)

# What a run asked for beside its GPUs does not matter here; its limit does, for `walltime_oversized`.
_RUNS: Final = """
INSERT INTO run BY NAME
SELECT number + 1 AS run_key, 'job' AS kind, $cluster AS cluster, (100000 + number)::VARCHAR AS job_id_raw,
       (100000 + number)::VARCHAR AS job_id, 0 AS restart, "user" AS user_name, account, "partition",
       'train-' || number % 7 AS name, CASE WHEN end_ms IS NULL THEN 'RUNNING' ELSE 'COMPLETED' END AS state,
       FALSE AS interactive, start_ms - 60000 AS submit_ms, start_ms, end_ms, end_ms - start_ms AS elapsed_ms,
       4 * 86400000 AS timelimit_ms, FALSE AS timelimit_unlimited, greatest(gpus // $gpus, 1) AS nodes,
       gpus AS req_gpus, gpus AS alloc_gpus, 16 * gpus AS alloc_cpus, FALSE AS shared,
       coalesce(end_ms, 0) AS updated_ms
FROM made"""
_ALLOCATIONS: Final = """
INSERT INTO allocation BY NAME
SELECT run + 1 AS run_key, node * $gpus + gpu + 1 AS gpu_key, node + 1 AS node_key, start_ms, end_ms, 'hook' AS source
FROM made"""
_NODES: Final = """
INSERT INTO node BY NAME
SELECT n + 1 AS node_key, printf('node%05d', n) AS name, $cluster AS cluster, TRUE AS slurm,
       $interval_ms AS interval_ms, $from_ms AS first_ms, $to_ms AS last_ms, $to_ms AS received_ms
FROM range($nodes) AS node(n)"""
_GPUS: Final = """
INSERT INTO gpu BY NAME
SELECT g + 1 AS gpu_key, printf('GPU-%012d', g) AS uuid, g // $gpus + 1 AS node_key, 'NVIDIA H100 80GB HBM3' AS model,
       g % $gpus AS idx, 81559 AS mem_total_mib, 700.0 AS power_limit_w, 1 AS slices, 1 AS slices_of,
       $from_ms AS first_ms, $to_ms AS last_ms, 63015 AS pcie_mib_s, 429153 AS nvlink_mib_s
FROM range($nodes * $gpus) AS gpu(g)"""


def week(directory: Path, fleet: Fleet) -> Database:
    """Returns the store in a directory, filled where it is empty: five minutes, 1 GB of memory, 650 MB on disk.

    Raises ValueError where it was filled for another fleet.
    """
    database = Database.open(directory, synthetic=True)
    with database.cursor() as cursor:
        wanted = msgspec.json.encode(fleet).decode()
        found = cursor.scalar("SELECT value FROM meta WHERE key = $1", [_MADE_FOR])
        if found is None:
            _fill(database, cursor, fleet)
            cursor.execute("INSERT INTO meta VALUES ($1, $2)", [_MADE_FOR, wanted])
        elif found != wanted:
            database.close()
            raise ValueError(f"{directory} holds {found} and {wanted} is asked for; name another directory")
    return database


def make_due(database: Database) -> None:
    """Takes the store back to where no run has a footprint or a finding."""
    with database.cursor() as cursor:
        with cursor.transaction():
            for table in ("footprint_gpu", "footprint_run", "finding", "finding_hour", "unjudged", "dirty_run"):
                cursor.execute(f"DELETE FROM {table}")
            cursor.execute("INSERT INTO dirty_run SELECT run_key, nextval('generations'), start_ms FROM run")
        cursor.execute("CHECKPOINT")


def _fill(database: Database, cursor: Cursor, fleet: Fleet) -> None:
    planned = plan(fleet)
    _describe(cursor, planned)
    _seal(cursor, planned)
    _sum(database, cursor, fleet)


def _describe(cursor: Cursor, planned: Plan) -> None:
    fleet = planned.fleet
    made = pa.Table.from_pylist(
        [{"number": number, **msgspec.structs.asdict(run)} for number, run in enumerate(planned.runs)]
    )
    known = {
        "cluster": CLUSTER, "nodes": fleet.nodes, "gpus": fleet.gpus, "interval_ms": fleet.interval_ms,
        "from_ms": fleet.from_ms, "to_ms": fleet.to_ms,
    }  # fmt: skip

    def fill(statement: str) -> None:
        cursor.execute(statement, {name: value for name, value in known.items() if f"${name}" in statement})

    with cursor.transaction():
        fill(_NODES)
        fill(_GPUS)
        with cursor.table("made", made):
            fill(_RUNS)
        with cursor.table("made", planned.holds):
            fill(_ALLOCATIONS)


def _seal(cursor: Cursor, planned: Plan) -> None:
    """Writes all days at once, one thread each, so that every node is made once and never a whole day is in memory."""
    fleet = planned.fleet
    days = range(manifest.day_of(fleet.from_ms + 1), manifest.day_of(fleet.to_ms) + 1)
    names = [manifest.new_name(cursor, day) for day in days]
    waiting: list[Queue[pa.Table | None]] = [Queue(maxsize=2) for _ in days]
    with ThreadPoolExecutor(len(days)) as pool:
        written = [
            pool.submit(parquet.write, cursor.database.directory / FOLDER / name, _batches(queue), parquet.DAILY)
            for name, queue in zip(names, waiting, strict=True)
        ]
        for node in range(fleet.nodes):
            table = _sample_rows(planned, node)
            day = (table["ts_ms"].to_numpy() - 1) // DAY_MS
            for each, queue in zip(days, waiting, strict=True):
                queue.put(table.filter(pa.array(day == each)))
        for queue in waiting:
            queue.put(None)
        with cursor.transaction():
            for name, file in zip(names, written, strict=True):
                manifest.add(cursor, name, file.result(), fleet.to_ms)


def _sample_rows(planned: Plan, node: int) -> pa.Table:
    """Returns the rows of a node with the columns of a sealed file."""
    made = rows(planned, node)
    keys = {
        "node_key": pc.add(made["node"], 1),
        "gpu_key": pc.add(made["gpu"], node * planned.fleet.gpus + 1),
        "run_key": pc.add(made["run"], 1),
    }
    columns = [keys[field.name] if field.name in keys else made[field.name] for field in _SCHEMA]
    return pa.table([column.cast(field.type) for column, field in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA)


def _batches(queue: "Queue[pa.Table | None]") -> Iterator[pa.RecordBatch]:
    """Yields what comes as batches of a row group each, as the merge writes them."""
    held = _SCHEMA.empty_table()
    while (table := queue.get()) is not None:
        held = pa.concat_tables([held, table])
        while held.num_rows >= parquet.ROW_GROUP:
            yield from held.slice(0, parquet.ROW_GROUP).combine_chunks().to_batches()
            held = held.slice(parquet.ROW_GROUP)
    if held.num_rows:
        yield from held.combine_chunks().to_batches()


def _sum(database: Database, cursor: Cursor, fleet: Fleet) -> None:
    """Rolls up day by day; a week's minutes are not kept, since nothing that is measured reads them."""
    for from_ms in range(fleet.from_ms, fleet.to_ms, DAY_MS):
        hours = np.arange(from_ms, min(from_ms + DAY_MS, fleet.to_ms), HOUR_MS)
        with cursor.table("hour", pa.table({"hour_ms": hours})):
            cursor.execute(
                "INSERT INTO dirty_hour SELECT hour_ms, node_key, nextval('generations'), hour_ms, hour_ms + $1 "
                "FROM hour CROSS JOIN node",
                [HOUR_MS],
            )
        while roll_up(database, _ROLLED_AT_ONCE):
            pass
        cursor.execute("DELETE FROM gpu_minute")
        cursor.execute("CHECKPOINT")
