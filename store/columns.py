"""From the raw columns of many segments to one Arrow table for ``hot``, without a loop over rows."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from store.catalog import BY_NAME, METRICS, STRUCTURE, Dtype, Metric
from store.segment import Column, Segment, SegmentError

ARROW_TYPE: Final[dict[str, pa.DataType]] = {
    "u1": pa.uint8(), "u2": pa.uint16(), "u4": pa.uint32(), "u8": pa.uint64(),
    "i1": pa.int8(), "i2": pa.int16(), "i4": pa.int32(), "i8": pa.int64(),
}  # fmt: skip

_NUMPY_TYPE: Final = {name: np.dtype(f"<{name}") for name in ARROW_TYPE}

HOUR_MS: Final = 3_600_000
MAX_SPAN_MS: Final = 900_000
"""A row stands for at most a quarter of an hour, whatever it says: rollups need look no further back than that."""

_Ints = npt.NDArray[np.int64]


class Rows:
    """The rows of one segment, checked: which device and holding each belongs to, and the columns nobody knows.

    ``stretches``: start and end of the times that the rows lie in, in ms: apart where nothing lies between for an hour.
    A node whose clock is set while it runs has rows of two times, years apart perhaps, in one segment.
    """

    def __init__(self, segment: Segment) -> None:
        table = segment.samples
        self.count = table.rows
        self.unknown = sorted(table.columns.keys() - STRUCTURE.keys() - BY_NAME.keys())
        self.ts_ms = required(table.columns, "ts_ms", table.rows)
        self.span_ms = required(table.columns, "span_ms", table.rows).clip(0, MAX_SPAN_MS)
        self.device = required(table.columns, "device", table.rows)
        self.holding = optional(table.columns, "holding", table.rows)  # -1: none
        last = len(segment.devices) - 1
        listed = all(0 <= device <= last for holding in segment.holdings for device in holding.devices)
        if self.count:
            listed = listed and 0 <= self.device.min() <= self.device.max() <= last
            listed = listed and -1 <= self.holding.min() <= self.holding.max() < len(segment.holdings)
        if not listed:
            raise SegmentError("segment refused: it names a device or holding that it does not list")
        known = (BY_NAME[name] for name in table.columns if name in BY_NAME)
        self.metrics = {metric.name: _fitting(metric, table.columns[metric.name], table.rows) for metric in known}
        self.stretches = _stretches(self.ts_ms, self.ts_ms - self.span_ms)

    def renumber(self, holdings: Sequence[int]) -> None:
        """Gives each row the new position of its holding, -1 for none."""
        self.holding = np.array([*holdings, -1], np.int64)[self.holding]

    def held_devices(self) -> set[tuple[int, int]]:
        """Returns the (holding, device) pairs that rows name, positions in the segment's lists."""
        pairs = self.holding * 65536 + self.device
        return {divmod(pair, 65536) for pair in set(pairs.tolist()) if pair >= 0}


def _stretches(ends: _Ints, starts: _Ints) -> list[tuple[int, int]]:
    if not len(ends):
        return []
    first, last = int(ends.min()), int(ends.max())
    if last - first <= HOUR_MS:
        return [(int(starts.min()), last)]
    order = np.argsort(ends, kind="stable")
    ends, starts = ends[order], starts[order]
    cuts = np.flatnonzero(np.diff(ends) > HOUR_MS) + 1
    parts = zip(np.split(starts, cuts), np.split(ends, cuts), strict=True)
    return [(int(start.min()), int(end[-1])) for start, end in parts]


class Keys:
    """The keys of one segment's lists: of its node, of each device and of the run of each holding."""

    def __init__(self, node: int, devices: Sequence[int], baselines: Sequence[int | None], runs: Sequence[int]) -> None:
        self.node = node
        self.devices = np.array(devices, np.int32)
        self.baselines = pa.array(baselines, pa.uint32())
        self.runs = np.array([*runs, 0], np.int32)  # the last one is what position -1 takes; it is masked


def from_tuples(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    """Returns a small table of what a batch holds beside its rows."""
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table([pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)], schema=schema)


def table(parts: Sequence[tuple[Rows, Keys]]) -> pa.Table:
    """Returns the rows of all segments as the columns of ``hot``."""
    rows = [part for part, _ in parts]
    columns: dict[str, pa.Array] = {
        "ts_ms": pa.array(np.concatenate([part.ts_ms for part in rows])),
        "span_ms": pa.array(np.concatenate([part.span_ms for part in rows]).astype(np.uint32)),
        "node_key": pa.array(np.repeat(np.array([k.node for _, k in parts], np.int32), [r.count for r in rows])),
        "gpu_key": pa.array(np.concatenate([k.devices[r.device] for r, k in parts])),
        "run_key": pa.array(
            np.concatenate([k.runs[r.holding] for r, k in parts]), mask=np.concatenate([r.holding for r in rows]) < 0
        ),
        "baseline_mib": pa.concat_arrays([k.baselines.take(pa.array(r.device)) for r, k in parts]),
    }
    for metric in METRICS:
        columns[metric.name] = _in_range(metric, _joined(metric, rows))
    return pa.table(columns)


def _joined(metric: Metric, parts: Sequence[Rows]) -> pa.Array:
    """Returns one column of all parts: a join of their bytes, and of their bitmaps only where one has any."""
    rows, kind = sum(part.count for part in parts), ARROW_TYPE[metric.dtype]
    found = [part.metrics.get(metric.name) for part in parts]
    if not any(found):
        return pa.nulls(rows, kind)
    width = int(metric.dtype[1])
    data = b"".join(
        [bytes(width * part.count) if one is None else one.data for one, part in zip(found, parts, strict=True)]
    )
    if all(one is not None and not one.valid for one in found):
        return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(data)])
    valid = np.ones(rows, np.bool_)
    end = 0
    for one, part in zip(found, parts, strict=True):
        begin, end = end, end + part.count
        if one is None:
            valid[begin:end] = False
        elif one.valid:
            valid[begin:end] = _bits(one, part.count)
    bitmap = np.packbits(valid, bitorder="little")
    return pa.Array.from_buffers(kind, rows, [pa.py_buffer(bitmap), pa.py_buffer(data)])


def _bits(column: Column, rows: int) -> npt.NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(column.valid, np.uint8), count=rows, bitorder="little").view(np.bool_)


def required(columns: dict[str, Column], name: str, rows: int) -> _Ints:
    """Returns a column as int64; raises SegmentError where it is not there or not complete."""
    column = columns.get(name)
    if column is None or (column.valid and not _bits(column, rows).all()):
        if rows:
            raise SegmentError(f"segment refused: its rows have no complete column {name}")
        return np.zeros(0, np.int64)
    return _integers(column)


def optional(columns: dict[str, Column], name: str, rows: int) -> _Ints:
    """Returns a column as int64 with -1 where it is NULL."""
    column = columns.get(name)
    if column is None:
        return np.full(rows, -1, np.int64)
    values = _integers(column)
    return np.where(_bits(column, rows), values, -1) if column.valid else values


def _integers(column: Column) -> _Ints:
    kind = _NUMPY_TYPE.get(column.dtype)
    if kind is None:
        raise SegmentError(f"segment refused: {column.dtype} is not a type of integers")
    return np.frombuffer(column.data, kind).astype(np.int64)


def _fitting(metric: Metric, column: Column, rows: int) -> Column:
    """Returns a metric's column in its own type: a node of another version may use a wider or narrower one."""
    if column.dtype == metric.dtype:
        return column
    kind = ARROW_TYPE.get(column.dtype)
    if kind is None:
        raise SegmentError(f"segment refused: {column.dtype} is not a type of integers")
    valid = pa.py_buffer(column.valid) if column.valid else None
    array = pa.Array.from_buffers(kind, rows, [valid, pa.py_buffer(column.data)])
    try:
        fits = array.cast(ARROW_TYPE[metric.dtype])
    except pa.ArrowInvalid as error:
        raise SegmentError(
            f"segment refused: column {metric.name} has values that do not fit {metric.dtype}"
        ) from error
    return Column(metric.dtype, fits.fill_null(0).to_numpy().tobytes(), column.valid)


def _in_range(metric: Metric, array: pa.Array) -> pa.Array:
    """Returns the array with values that cannot be as NULL: the node checks too, but imports and old nodes may not."""
    low, high = round(metric.low * metric.per_unit), round(metric.high * metric.per_unit)
    span = pc.min_max(array).as_py()
    if span["min"] is None or (span["min"] >= low and span["max"] <= high):
        return array
    inside = pc.and_(pc.greater_equal(array, max(low, _least(metric.dtype))), pc.less_equal(array, high))
    return pc.if_else(inside, array, pa.scalar(None, array.type))


def _least(dtype: Dtype) -> int:
    return 0 if dtype.startswith("u") else -(2 ** (8 * int(dtype[1:]) - 1))
