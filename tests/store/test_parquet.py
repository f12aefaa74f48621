"""How columns are packed: by what their values do, not by their names."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from store import parquet
from store.parquet import DAILY, HOURLY, Packing

ROWS = 20_000


def batch() -> pa.RecordBatch:
    rng = np.random.default_rng(1)
    level = 700 + np.cumsum(rng.integers(-2, 3, ROWS)).clip(-600, 300)
    columns: dict[str, Any] = {
        "ts_ms": pa.array(1_795_392_000_000 + 10_000 * np.arange(ROWS)),
        "gpu_key": pa.array(np.full(ROWS, 7, np.int32)),
        "util_pct": pa.array(level.astype(np.uint16)),
        "power_w": pa.array(rng.integers(600, 7000, ROWS).astype(np.uint16)),
        "sm_clock_mhz": pa.array(np.repeat([1980, 345], ROWS // 2).astype(np.uint16)),
        "temp_c": pa.array([None] * 9_000 + [40, 41] * (ROWS // 2 - 4_500), pa.int16()),
    }
    return pa.record_batch(columns)


def packed(folder: Path, packing: Packing) -> dict[str, Any]:
    path = folder / "file.parquet"
    written = parquet.write(path, [batch()], packing)
    assert (written.rows, written.bytes) == (ROWS, path.stat().st_size)
    group = pq.ParquetFile(path).metadata.row_group(0)
    return {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}


@pytest.mark.parametrize("packing", [HOURLY, DAILY])
def test_what_is_read_back_is_what_was_written(tmp_path: Path, packing: Packing) -> None:
    packed(tmp_path, packing)
    path = tmp_path / "file.parquet"
    assert pq.read_table(path).to_batches() == [batch()]
    with duckdb.connect() as connection:
        found = connection.sql(f"FROM '{path}'").to_arrow_table()
    assert found.cast(batch().schema).to_pydict() == batch().to_pydict()


def test_the_values_decide_the_encoding(tmp_path: Path) -> None:
    columns = packed(tmp_path, HOURLY)
    dictionaries = {name for name, column in columns.items() if column.has_dictionary_page}
    assert dictionaries == {"gpu_key", "sm_clock_mhz"}
    assert "DELTA_BINARY_PACKED" in columns["ts_ms"].encodings
    for name in ("util_pct", "power_w", "temp_c"):
        assert "BYTE_STREAM_SPLIT" in columns[name].encodings
    assert {name for name, column in columns.items() if column.is_stats_set} == {"ts_ms", "gpu_key"}


def test_shares_of_time_are_packed_harder_for_good(tmp_path: Path) -> None:
    hourly, daily = packed(tmp_path, HOURLY), packed(tmp_path, DAILY)
    assert {column.compression for column in hourly.values()} == {"ZSTD"}
    assert {name for name, column in daily.items() if column.compression == "BROTLI"} == {"util_pct"}
    assert daily["util_pct"].total_compressed_size < 0.9 * hourly["util_pct"].total_compressed_size
