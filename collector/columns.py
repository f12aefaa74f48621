"""Rows as columns of raw little-endian values with a validity bitmap, as a segment carries them."""

import sys
from array import array
from collections.abc import Mapping
from typing import Final

from store.catalog import METRICS, STRUCTURE, Dtype
from store.segment import Column, Table

ROW_DTYPES: Final[dict[str, Dtype]] = {**STRUCTURE, **{metric.name: metric.dtype for metric in METRICS}}
"""Storage types of the columns of a GPU's rows."""
_TYPECODES: Final = {"u1": "B", "u2": "H", "u4": "I", "i2": "h", "i4": "i", "i8": "q"}


class _Tape:
    """One column in the making. Rows without a value are filled with 0 and left out of the bitmap."""

    __slots__ = ("dtype", "valid", "values")

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.values = array(_TYPECODES[dtype])
        self.valid = 0  # bit i: row i has a value; the integer's little-endian bytes are the bitmap

    def put(self, row: int, value: int) -> None:
        self.pad(row)
        self.values.append(value)
        self.valid |= 1 << row

    def pad(self, rows: int) -> None:
        if missing := rows - len(self.values):
            self.values.frombytes(bytes(missing * self.values.itemsize))

    def column(self, rows: int) -> Column:
        self.pad(rows)
        if sys.byteorder == "big":
            self.values.byteswap()
        bitmap = b"" if self.valid == (1 << rows) - 1 else self.valid.to_bytes((rows + 7) // 8, "little")
        return Column(self.dtype, self.values.tobytes(), bitmap)


class TableWriter:
    """Gathers rows. A column in which no row has a value does not exist."""

    def __init__(self, dtypes: Mapping[str, Dtype]) -> None:
        """``dtypes``: the columns that rows may have."""
        self.rows = 0
        self._dtypes = dtypes
        self._tapes: dict[str, _Tape] = {}

    def add(self, values: dict[str, int]) -> None:
        """Adds a row of stored values by name."""
        row = self.rows
        for name, value in values.items():
            tape = self._tapes.get(name)
            if tape is None:
                tape = self._tapes[name] = _Tape(self._dtypes[name])
            tape.put(row, value)
        self.rows = row + 1

    def table(self) -> Table:
        """Returns the table and ends the writing."""
        return Table(self.rows, {name: tape.column(self.rows) for name, tape in self._tapes.items()})
