"""When to read: on a grid of the wall clock, so that rows of all nodes line up and no error adds up.

Each node's grid is shifted by a share of the interval that follows from its name: a thousand nodes do not report in the
same millisecond.
"""

import math
import zlib
from typing import NamedTuple


class Beat(NamedTuple):
    """The next time to wake."""

    wait_s: float
    reads: bool  # a row is due; else only a look at what may have changed


class Grid:
    """Beats of about one second that divide the interval evenly."""

    def __init__(self, interval_s: float, node: str) -> None:
        self._per_interval = math.ceil(interval_s)
        self._beat_s = interval_s / self._per_interval
        self._offset_s = interval_s * (zlib.crc32(node.encode()) % 1000) / 1000
        self._interval_s = interval_s
        self._read: int | None = None  # the interval in which the last row was taken

    def next(self, now_s: float) -> Beat:
        """Returns the next beat after ``now_s`` (wall clock). One missed while the daemon was busy is made up for."""
        beat = math.floor((now_s - self._offset_s) / self._beat_s) + 1
        interval = beat // self._per_interval
        reads = interval != self._read
        if self._read is None:
            reads = beat % self._per_interval == 0
        if reads:
            self._read = interval
        return Beat(max(0.0, beat * self._beat_s + self._offset_s - now_s), reads)
