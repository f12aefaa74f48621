"""What jobs did on the cores of their nodes: table ``host_minute``, summed by minute when it comes in.

Rows are cut at minutes in proportion to time, and the parts of a row add up to it. A minute may have several entries,
of several segments: readers sum them.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from store.columns import MAX_SPAN_MS, optional, required
from store.database import Cursor
from store.segment import Segment, SegmentError

MINUTE_MS: Final = 60_000
_MOST_CORES: Final = 65_536  # of one node: more than any machine has

_INSERT: Final = f"""
INSERT INTO host_minute
WITH part AS (
    SELECT *, greatest(from_ms, minute * {MINUTE_MS}) - from_ms AS a_ms,
        least(ts_ms, (minute + 1) * {MINUTE_MS}) - from_ms AS b_ms
    FROM (SELECT *, ts_ms - span_ms AS from_ms,
              unnest(range((ts_ms - span_ms) // {MINUTE_MS}, (ts_ms - 1) // {MINUTE_MS} + 1)) AS minute
          FROM batch_host))
SELECT minute * {MINUTE_MS}, node_key, run_key, sum(b_ms - a_ms)::BIGINT,
    sum(cpu_ms * b_ms // span_ms - cpu_ms * a_ms // span_ms)::BIGINT, max(mem_mib)
FROM part GROUP BY minute, node_key, run_key"""  # noqa: S608 - constants


class HostRows:
    """The rows of one segment that can be; raises SegmentError where columns are missing."""

    def __init__(self, segment: Segment, earliest_ms: int, latest_ms: int) -> None:
        """No row from before ``earliest_ms`` or after ``latest_ms`` is taken."""
        columns, rows = segment.hosts.columns, segment.hosts.rows
        found = {name: required(columns, name, rows) for name in ("ts_ms", "span_ms", "holding", "cpu_ms")}
        if rows and found["holding"].max() >= len(segment.holdings):
            raise SegmentError("segment refused: it names a holding that it does not list")
        found["mem_mib"] = optional(columns, "mem_mib", rows)  # -1: not counted
        ts_ms, span_ms, cpu_ms = found["ts_ms"], found["span_ms"], found["cpu_ms"]
        can_be = (ts_ms - span_ms >= earliest_ms) & (ts_ms <= latest_ms) & (span_ms > 0) & (span_ms <= MAX_SPAN_MS)
        can_be &= (cpu_ms >= 0) & (cpu_ms <= span_ms * _MOST_CORES) & (found["holding"] >= 0)
        self.columns = found if can_be.all() else {name: values[can_be] for name, values in found.items()}

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.columns["ts_ms"])

    def renumber(self, holdings: Sequence[int]) -> None:
        """Gives each row the new position of its holding; those of -1 are left out."""
        places = np.array(holdings, np.int64)[self.columns["holding"]]
        kept = places >= 0
        self.columns = {name: values[kept] for name, values in (self.columns | {"holding": places}).items()}


Placed = tuple[HostRows, int, Sequence[int]]
"""The rows of a segment, its node_key, and run_key by position in its list of holdings."""


def keep(cursor: Cursor, told: Sequence[Placed]) -> None:
    """Adds the rows of all segments, minute by minute."""
    parts = [each for each in told if each[0].count]
    if not parts:
        return
    with cursor.table("batch_host", _table(parts)):
        cursor.execute(_INSERT)


def _table(parts: Sequence[Placed]) -> pa.Table:
    columns = {name: np.concatenate([rows.columns[name] for rows, _, _ in parts]) for name in parts[0][0].columns}
    return pa.table(
        {
            **{name: columns[name] for name in ("ts_ms", "span_ms", "cpu_ms")},
            "mem_mib": pa.array(columns["mem_mib"], mask=columns["mem_mib"] < 0),
            "node_key": np.repeat(
                np.array([node for _, node, _ in parts], np.int32), [rows.count for rows, _, _ in parts]
            ),
            "run_key": np.concatenate([np.array(runs, np.int32)[rows.columns["holding"]] for rows, _, runs in parts]),
        }
    )
