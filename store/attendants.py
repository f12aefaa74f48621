"""What travels in a segment beside its rows: events, reasons for NULL, records of the probes."""

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa

from store.columns import from_tuples
from store.database import Cursor
from store.segment import Segment

Placed = tuple[Segment, int, Sequence[int]]
"""A segment, its node_key, and gpu_key by position in its list of devices."""

_EVENT: Final = pa.schema(
    {
        "node_key": pa.int32(), "gpu_key": pa.int32(), "ts_ms": pa.int64(), "kind": pa.string(),
        "detail": pa.string(),
    }
)  # fmt: skip
_NULL: Final = pa.schema(
    {
        "gpu_key": pa.int32(), "metric": pa.string(), "reason": pa.string(), "from_ms": pa.int64(),
        "to_ms": pa.int64(),
    }
)  # fmt: skip
_PROBE: Final = pa.schema(
    {
        "node_key": pa.int32(), "probe": pa.string(), "at_ms": pa.int64(), "duration_ms": pa.float64(),
        "ok": pa.bool_(), "rows": pa.int32(), "runs": pa.int32(), "error": pa.string(),
    }
)  # fmt: skip


def keep(cursor: Cursor, segments: Sequence[Placed]) -> None:
    """Stores the three of all segments; the newest record of a probe wins, reasons for NULL grow together in time."""
    _keep_events(cursor, segments)
    _keep_nulls(cursor, segments)
    _keep_probes(cursor, segments)


def _keep_events(cursor: Cursor, segments: Sequence[Placed]) -> None:
    rows = [
        (node, _gpu(gpus, event.device), event.ts_ms, event.kind, event.detail)
        for segment, node, gpus in segments
        for event in segment.events
    ]
    if rows:
        with cursor.table("batch_event", from_tuples(rows, _EVENT)):
            cursor.execute("INSERT INTO event BY NAME SELECT * FROM batch_event")


def keep_disputes(cursor: Cursor, disputes: Iterable[tuple[int, int, int, str]]) -> None:
    """Notes once each (node_key, gpu_key, moment, job id) that a poll tells and of which the node knows better."""
    rows = [
        (node, gpu, at_ms, "sources_disagree", f"the queue says that job {job} has it, its node says another one")
        for node, gpu, at_ms, job in disputes
    ]
    if rows:
        with cursor.table("batch_event", from_tuples(rows, _EVENT)):
            cursor.execute("""
                INSERT INTO event BY NAME
                SELECT * FROM batch_event ANTI JOIN event USING (node_key, gpu_key, kind, detail)""")


def _keep_nulls(cursor: Cursor, segments: Sequence[Placed]) -> None:
    rows = [
        (gpus[null.device], null.metric, null.reason, null.from_ms, null.to_ms)
        for segment, _, gpus in segments
        for null in segment.nulls
        if 0 <= null.device < len(gpus)
    ]
    if rows:
        with cursor.table("batch_null", from_tuples(rows, _NULL)):
            cursor.execute("""
                INSERT INTO null_reason
                SELECT gpu_key, metric, reason, min(from_ms), max(to_ms) FROM batch_null GROUP BY ALL
                ON CONFLICT DO UPDATE SET from_ms = least(from_ms, excluded.from_ms),
                    to_ms = greatest(to_ms, excluded.to_ms)""")


def _keep_probes(cursor: Cursor, segments: Sequence[Placed]) -> None:
    rows = [
        (node, probe.probe, probe.at_ms, probe.duration_ms, probe.ok, probe.rows, probe.runs, probe.error)
        for segment, node, _ in segments
        for probe in segment.probes
    ]
    if rows:
        with cursor.table("batch_probe", from_tuples(rows, _PROBE)):
            cursor.execute("""
                INSERT INTO probe_log
                SELECT * FROM batch_probe
                QUALIFY row_number() OVER (PARTITION BY node_key, probe ORDER BY at_ms DESC, duration_ms) = 1
                ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms, duration_ms = excluded.duration_ms, ok = excluded.ok,
                    rows = excluded.rows, runs = excluded.runs, error = excluded.error
                    WHERE excluded.at_ms >= probe_log.at_ms""")


def _gpu(gpus: Sequence[int], device: int | None) -> int | None:
    return gpus[device] if device is not None and 0 <= device < len(gpus) else None
