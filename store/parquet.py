"""Sealed rows as Parquet: which encoding each column gets, and a file that is on disk before it has its name."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROW_GROUP: Final = 122_880
"""Rows a group: DuckDB's own unit, so that one group is one thread's work."""
_LEVEL: Final = 3
# Rows are sorted by GPU and time. What stays the same for long goes into a dictionary, whose runs cost next to nothing;
# time, a steady step, into differences; measured values into byte planes, the highest of which hardly change.
_DICTIONARY: Final = frozenset(
    {"node_key", "gpu_key", "run_key", "baseline_mib", "span_ms"}
    | {"mem_reserved_mib", "sm_clock_mhz", "mem_clock_mhz", "event_reasons", "processes"}
)
_DELTA: Final = frozenset({"ts_ms"})


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds. ``from_ms`` and ``to_ms``: the earliest and the latest end of a row."""

    rows: int
    bytes: int
    columns: str
    from_ms: int
    to_ms: int


def write(path: Path, batches: Iterable[pa.RecordBatch]) -> Written:
    """Writes sorted rows and returns what the file holds, once it is on disk under its name.

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
                writer = _writer(file, batch.schema)
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=ROW_GROUP)
            rows += batch.num_rows
            span = pc.min_max(batch["ts_ms"]).as_py()
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


def _writer(file: object, schema: pa.Schema) -> pq.ParquetWriter:
    names = schema.names
    planes = [name for name in names if name not in _DICTIONARY | _DELTA]
    return pq.ParquetWriter(
        file,
        schema,
        version="2.6",
        data_page_version="2.0",
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=[name for name in names if name in _DICTIONARY],
        column_encoding={
            **dict.fromkeys(planes, "BYTE_STREAM_SPLIT"),
            **{name: "DELTA_BINARY_PACKED" for name in names if name in _DELTA},
        },
        write_statistics=True,
    )
