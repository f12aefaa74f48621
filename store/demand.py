"""Polls of the queue: tables ``queue_poll`` and ``queue_pending``. A poll never changes, so order does not matter."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from store.columns import from_tuples
from store.database import Cursor
from store.segment import Segment

_POLL: Final = pa.schema(
    {
        "node_key": pa.int32(), "cluster": pa.string(), "at_ms": pa.int64(), "until_ms": pa.int64(),
        "whole": pa.bool_(), "held_gpus": pa.int32(),
    }
)  # fmt: skip
_PENDING: Final = pa.schema(
    {
        "node_key": pa.int32(), "at_ms": pa.int64(), "partition": pa.string(), "gpu_type": pa.string(),
        "waits_for": pa.string(), "jobs": pa.int32(), "gpus": pa.int32(),
    }
)  # fmt: skip


def keep(cursor: Cursor, segments: Sequence[tuple[Segment, int]]) -> None:
    """Stores the polls of segments, each with its node_key; a second poll of one host in one moment is passed over."""
    polls = {(node, poll.at_ms): (segment.cluster, poll) for segment, node in segments for poll in segment.queue}
    if not polls:
        return
    known = cursor.tuples(
        "SELECT node_key, at_ms FROM queue_poll WHERE node_key IN (SELECT unnest($1::INTEGER[])) "
        "AND at_ms IN (SELECT unnest($2::BIGINT[]))",
        [sorted({node for node, _ in polls}), sorted({at_ms for _, at_ms in polls})],
    )
    for key in known:
        polls.pop(key, None)
    rows = [
        (node, cluster, at_ms, poll.until_ms, poll.whole, poll.held_gpus)
        for (node, at_ms), (cluster, poll) in polls.items()
    ]
    with cursor.table("batch_poll", from_tuples(rows, _POLL)):
        cursor.execute("INSERT INTO queue_poll BY NAME SELECT * FROM batch_poll")
    pending = [
        (node, at_ms, each.partition, each.gpu_type, each.waits_for, each.jobs, each.gpus)
        for (node, at_ms), (_, poll) in polls.items()
        for each in poll.pending
    ]
    if pending:
        with cursor.table("batch_pending", from_tuples(pending, _PENDING)):
            cursor.execute("INSERT INTO queue_pending BY NAME SELECT * FROM batch_pending")


def whole_polls(cursor: Cursor) -> dict[str, int]:
    """Returns by cluster when a poll last listed every live run."""
    return dict(cursor.tuples("SELECT cluster, max(at_ms) FROM queue_poll WHERE whole GROUP BY cluster"))
