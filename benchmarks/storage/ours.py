"""What our store makes of a fleet's rows: the real hot table, sealer and merge; the merge's writer on finer values.

Beside the fourteen metrics a row has its time, span, node, GPU, run and baseline. The catalogue's other metrics are
NULL in every row, as on GPUs that do not offer them.
"""

import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from benchmarks.telemetry import CATALOGUE, EXACT, Plan, rows
from store import manifest, parquet
from store.columns import HOUR_MS
from store.database import Cursor, Database
from store.manifest import DAY_MS
from store.merge import merge
from store.retention import retain
from store.samples import FOLDER
from store.seal import seal
from store.settings import StoreSettings

BASELINE_MIB: Final = 4
# The finer value takes the place of the catalogue's, by position: both say the same reading.
_CATALOGUE_NAME: Final = dict(zip(EXACT, CATALOGUE, strict=True))
_AT_ONCE: Final = StoreSettings(seal_after_s=0, merge_after_s=0)


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """Rows at rest: bytes after the nightly merge and before it, CPU seconds of sealing and of merging.

    ``drop_s``: wall time until the first day was off the list and its bytes off the disk.
    """

    rows: int
    bytes: int
    hourly_bytes: int
    seal_s: float
    merge_s: float
    drop_s: float


def at_rest(plan: Plan) -> Sealed:
    """Takes a fleet's rows hour by hour, seals each hour, and merges each day."""
    with (
        tempfile.TemporaryDirectory(prefix="gpuledger-bench-") as folder,
        Database.open(Path(folder)) as database,
        database.cursor() as cursor,
    ):
        seal_s = 0.0
        everything = pa.concat_tables([_keyed(plan, rows(plan, node)) for node in range(plan.fleet.nodes)])
        _reach(cursor, 0)
        for to_ms in range(plan.fleet.from_ms + HOUR_MS, plan.fleet.to_ms + HOUR_MS, HOUR_MS):
            _insert(cursor, everything, to_ms - HOUR_MS, to_ms)
            _reach(cursor, min(to_ms, plan.fleet.to_ms))
            before = _cpu_s()
            seal(database, _AT_ONCE, to_ms)
            seal_s += _cpu_s() - before
        hourly = manifest.files(cursor)
        _reach(cursor, plan.fleet.to_ms + DAY_MS)
        before = _cpu_s()
        while merge(database, _AT_ONCE, plan.fleet.to_ms + DAY_MS):
            pass
        merge_s = _cpu_s() - before
        daily = manifest.files(cursor)
        drop_s = _drop(database, cursor, daily[0].day)
        return Sealed(
            rows=sum(file.rows for file in daily),
            bytes=sum(file.bytes for file in daily),
            hourly_bytes=sum(file.bytes for file in hourly),
            seal_s=seal_s,
            merge_s=merge_s,
            drop_s=drop_s,
        )


def _drop(database: Database, cursor: Cursor, day: int) -> float:
    """Lets the first day grow old, and returns how long it took to drop it."""
    _reach(cursor, (day + 3) * DAY_MS)
    before = time.perf_counter()
    retain(database, StoreSettings(raw_days=1), (day + 3) * DAY_MS)
    taken_s = time.perf_counter() - before
    assert not manifest.files(cursor, day)
    assert not list((database.directory / FOLDER).glob(f"{manifest.new_name(cursor, day).partition('/')[0]}/*"))
    return taken_s


def lossless_bytes(plan: Plan) -> int:
    """Returns the size of the fleet's rows as the driver gives them, scaled to integers, by the writer of the merge.

    The catalogue's units are coarser, so the store itself cannot take these; a column is as wide as they need.
    """

    def batches() -> Iterator[pa.RecordBatch]:
        whole = pa.concat_tables([_exact(plan, node) for node in range(plan.fleet.nodes)])
        yield from whole.combine_chunks().to_batches(parquet.ROW_GROUP)

    with tempfile.TemporaryDirectory(prefix="gpuledger-bench-") as folder:
        return parquet.write(Path(folder) / "exact.parquet", batches(), parquet.DAILY).bytes


def _exact(plan: Plan, node: int) -> pa.Table:
    found = rows(plan, node, EXACT)
    return _keyed(plan, found.rename_columns([_CATALOGUE_NAME.get(name, name) for name in found.column_names]))


def _keyed(plan: Plan, found: pa.Table) -> pa.Table:
    """Returns rows with the keys of the store in place of positions."""
    gpu_key = found["node"].to_numpy() * plan.fleet.gpus + found["gpu"].to_numpy() + 1
    keys = {
        "ts_ms": found["ts_ms"],
        "span_ms": found["span_ms"],
        "node_key": pa.array(found["node"].to_numpy() + 1),
        "gpu_key": pa.array(gpu_key.astype(np.int32)),
        "run_key": found["run"],
        "baseline_mib": pa.array(np.full(found.num_rows, BASELINE_MIB, np.uint32)),
    }
    return pa.table(keys | {name: found[name] for name in CATALOGUE})


def _insert(cursor: Cursor, found: pa.Table, after_ms: int, to_ms: int) -> None:
    with cursor.transaction(), cursor.table("arrived", found):
        cursor.execute(
            "INSERT INTO hot BY NAME SELECT *, 1 AS gen FROM arrived WHERE ts_ms > $1 AND ts_ms <= $2",
            [after_ms, to_ms],
        )


def _reach(cursor: Cursor, to_ms: int) -> None:
    """Says how far the data reaches, by which the store tells what is over."""
    with cursor.transaction():
        cursor.execute("DELETE FROM node")
        cursor.execute("INSERT INTO node VALUES (1, 'n1', 'bench', true, 10000, NULL, NULL, 0, $1, $1, NULL)", [to_ms])


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
