"""Which segments are stored: stretches of sequence numbers by node and start of its agent.

A segment's name is (node, boot id, sequence). An agent numbers its segments one after the other, so that a stretch
grows at its end and one row tells of all of them; what comes late fills a gap, and two stretches that touch become one.
The same segments make the same rows in whatever order they come.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from store.columns import from_tuples
from store.database import Cursor
from store.segment import Segment

Key = tuple[str, str]
"""Node and boot id."""
Stretch = tuple[int, int, int]
"""First and last sequence number, and when the last row of all its segments ended."""
_Row = tuple[int, str, int, int, int]

_BATCH: Final = pa.schema({"node": pa.string(), "boot_id": pa.string(), "seq": pa.int64()})
_STRETCH: Final = pa.schema(
    {
        "node_key": pa.int32(), "boot_id": pa.string(), "from_seq": pa.int64(), "to_seq": pa.int64(),
        "last_ms": pa.int64(),
    }
)  # fmt: skip
_NEAR: Final = """
    SELECT DISTINCT b.node, b.boot_id, s.from_seq, s.to_seq, s.last_ms
    FROM segment_stretch s JOIN node n USING (node_key) JOIN batch_sequence b
        ON b.node = n.name AND b.boot_id = s.boot_id AND s.from_seq <= b.seq + 1 AND s.to_seq >= b.seq - 1
    ORDER BY s.from_seq"""
_GO: Final = """
    DELETE FROM segment_stretch s USING batch_stretch b
    WHERE s.node_key = b.node_key AND s.boot_id = b.boot_id AND s.from_seq = b.from_seq"""
_GROW: Final = """
    UPDATE segment_stretch s SET to_seq = b.to_seq, last_ms = b.last_ms FROM batch_stretch b
    WHERE s.node_key = b.node_key AND s.boot_id = b.boot_id AND s.from_seq = b.from_seq"""
_BEGIN: Final = "INSERT INTO segment_stretch BY NAME SELECT * FROM batch_stretch"


class Sequences:
    """The stored stretches that segments of a batch lie in or touch, and what becomes of them with the batch."""

    def __init__(self, stored: Mapping[Key, Sequence[Stretch]]) -> None:
        """``stored``: stretches of each key in order."""
        self._stored = stored
        self._now: dict[Key, list[Stretch]] = {key: list(stretches) for key, stretches in stored.items()}

    def add(self, segment: Segment, last_ms: int) -> bool:
        """Returns whether the segment is new, and counts it as stored from now on."""
        row, seq = self._now.setdefault((segment.node, segment.boot_id), []), segment.seq
        after = bisect_right(row, seq, key=lambda stretch: stretch[0])
        if after and row[after - 1][1] >= seq:
            return False
        first, last, at = seq, seq, after
        if after < len(row) and row[after][0] == seq + 1:
            _, last, until_ms = row.pop(after)
            last_ms = max(last_ms, until_ms)
        if after and row[after - 1][1] == seq - 1:
            at = after - 1
            first, _, until_ms = row.pop(at)
            last_ms = max(last_ms, until_ms)
        row.insert(at, (first, last, last_ms))
        return True

    def write(self, cursor: Cursor, nodes: Mapping[str, int]) -> None:
        """Stores what changed; ``nodes`` is node_key by name of every node with a new segment."""
        grown: list[_Row] = []
        begun: list[_Row] = []
        gone: list[_Row] = []
        for key, now in self._now.items():
            before = {stretch[0]: stretch for stretch in self._stored.get(key, ())}
            if now == list(before.values()):
                continue
            place = nodes[key[0]], key[1]
            for stretch in now:
                if (known := before.pop(stretch[0], None)) != stretch:
                    (begun if known is None else grown).append((*place, *stretch))
            gone += [(*place, *stretch) for stretch in before.values()]
        for statement, rows in ((_GO, gone), (_GROW, grown), (_BEGIN, begun)):
            if rows:
                with cursor.table("batch_stretch", from_tuples(rows, _STRETCH)):
                    cursor.execute(statement)


def load(cursor: Cursor, segments: Sequence[Segment]) -> Sequences:
    """Returns what is stored of the segments of a batch and next to them."""
    rows = [(segment.node, segment.boot_id, segment.seq) for segment in segments]
    stored: dict[Key, list[Stretch]] = {}
    with cursor.table("batch_sequence", from_tuples(rows, _BATCH)):
        for node, boot_id, *stretch in cursor.tuples(_NEAR):
            stored.setdefault((node, boot_id), []).append((stretch[0], stretch[1], stretch[2]))
    return Sequences(stored)
