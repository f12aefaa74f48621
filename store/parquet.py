"""Sealed rows as Parquet: how each column is packed, and a file that is on disk before it has its name."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from store.catalog import METRICS, Kind

ROW_GROUP: Final = 122_880
"""Rows a group: DuckDB's own unit, so that one group is one thread's work."""
# Rows are sorted by GPU and time. A column that changes in fewer than one of so many rows becomes a dictionary, whose
# runs cost next to nothing; time, a steady step, becomes differences; measured values become byte planes, the highest
# of which hardly change (BYTE_STREAM_SPLIT). What is steady is seen in the first rows: no list of names to keep.
_STEADY: Final = 16
_DELTA: Final = frozenset({"ts_ms", "minute_ms"})
# A reader passes over what its limits exclude by these; the others are not asked for ranges.
_LIMITS: Final = ("ts_ms", "minute_ms", "node_key", "gpu_key", "run_key")
# Shares of time wander about a level: Brotli, which codes a byte by the ones before it, takes 6 to 14 % less for them
# than zstd, which does not. For other readings the gain is 2 %, and reading back costs 12 instead of 4 ns a value.
_SHARES: Final = frozenset(metric.name for metric in METRICS if metric.kind is Kind.GAUGE and metric.unit == "%")


class Packing(msgspec.Struct, frozen=True):
    """How hard values are packed: zstd's level, and Brotli's for shares of time (None: zstd for them too)."""

    level: int
    shares_level: int | None = None


HOURLY: Final = Packing(3)
"""While rows come in: 0.15 us a row."""
DAILY: Final = Packing(9, 5)
"""For good: 0.45 us a row, 8 % fewer bytes. Higher levels save 1 % for six times the work."""


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds. ``from_ms`` and ``to_ms``: the earliest and the latest time of a row."""

    rows: int
    bytes: int
    columns: str
    from_ms: int
    to_ms: int


def write(path: Path, batches: Iterable[pa.RecordBatch], packing: Packing = HOURLY, *, time: str = "ts_ms") -> Written:
    """Writes sorted rows and returns what the file holds, once it is on disk under its name.

    ``time``: the column that says when a row is.
    A crash leaves ``path`` whole or absent; what is left of a file being written ends in ``.part``.
    """
    part = path.with_name(f"{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    rows, ends, columns = 0, [], ""
    with part.open("wb") as file:
        writer: pq.ParquetWriter | None = None
        for batch in batches:
            if writer is None:
                columns = ",".join(batch.schema.names)
                writer = _writer(file, batch, packing)
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=ROW_GROUP)
            rows += batch.num_rows
            span = pc.min_max(batch[time]).as_py()
            ends += [span["min"], span["max"]]
        if writer is None:
            raise ValueError("there are no rows to write")
        writer.close()
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    part.rename(path)
    sync_folder(path.parent)
    return Written(rows=rows, bytes=size, columns=columns, from_ms=min(ends), to_ms=max(ends))


def sync_folder(folder: Path) -> None:
    """Puts the names in a folder on disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _writer(file: object, first: pa.RecordBatch, packing: Packing) -> pq.ParquetWriter:
    names = first.schema.names
    steady = [name for name in names if name not in _DELTA and _is_steady(first[name])]
    brotli = _SHARES.difference(steady) if packing.shares_level is not None else frozenset()
    return pq.ParquetWriter(
        file,
        first.schema,
        version="2.6",
        data_page_version="2.0",
        compression={name: "brotli" if name in brotli else "zstd" for name in names},
        compression_level={name: packing.shares_level if name in brotli else packing.level for name in names},
        use_dictionary=steady,
        column_encoding={
            name: "DELTA_BINARY_PACKED" if name in _DELTA else "BYTE_STREAM_SPLIT"
            for name in names
            if name not in steady
        },
        # One page a group: what a page saves by being passed over, DuckDB does not pass over.
        max_rows_per_page=ROW_GROUP,
        write_statistics=[name for name in names if name in _LIMITS],
    )


def _is_steady(column: pa.Array) -> bool:
    changes = pc.sum(pc.not_equal(column[1:], column[:-1])).as_py() or 0
    return bool(changes * _STEADY < len(column))
