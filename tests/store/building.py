"""Segments for the tests of the store, said row by row, and stores to put them into."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from store.catalog import BY_NAME, HOST, STRUCTURE
from store.database import Cursor, Database, database_file
from store.ingest import IngestResult, ingest
from store.rollup import roll_up
from store.segment import (
    AccountingRun,
    Column,
    Device,
    Event,
    GpuGroup,
    Holding,
    InventoryReading,
    NodeSeen,
    NullReason,
    ProbeRun,
    ProcessSeen,
    Segment,
    Table,
    encode,
    segment_name,
)

HOUR: Final = 3_600_000
MINUTE: Final = 60_000
SECOND: Final = 1_000
T0: Final = 1_795_392_000_000
"""Mon 23 Nov 2026, 00:00 UTC."""
NOW: Final = T0 + 30 * 24 * HOUR

Row = Mapping[str, Any]


def row(
    ts_ms: int, device: int = 0, holding: int | None = None, span_ms: int = 10 * SECOND, **stored: int | None
) -> Row:
    """A row as it is stored: metrics are scaled integers."""
    return {"ts_ms": ts_ms, "span_ms": span_ms, "device": device, "holding": holding, **stored}


def steady(
    from_ms: int,
    to_ms: int,
    device: int = 0,
    holding: int | None = None,
    step_ms: int = 10 * SECOND,
    **stored: int | None,
) -> list[Row]:
    """Rows that cover [from_ms, to_ms) without a gap."""
    ends = [*range(from_ms + step_ms, to_ms, step_ms), to_ms]
    return [row(ts, device, holding, ts - start, **stored) for start, ts in zip([from_ms, *ends], ends, strict=False)]


def column(values: Sequence[int | None], dtype: str) -> Column:
    present = np.array([value is not None for value in values])
    data = np.array([value or 0 for value in values]).astype(f"<{dtype}").tobytes()
    return Column(dtype, data, b"" if present.all() else np.packbits(present, bitorder="little").tobytes())


def table(rows: Sequence[Row]) -> Table:
    names = {name for each in rows for name in each}
    dtypes = {**STRUCTURE, **{name: metric.dtype for name, metric in BY_NAME.items()}}
    return Table(len(rows), {name: column([each.get(name) for each in rows], dtypes[name]) for name in sorted(names)})


def names_of(cursor: Cursor) -> set[str]:
    """Returns the name of every stored segment."""
    stretches = cursor.tuples("SELECT name, boot_id, from_seq, to_seq FROM segment_stretch JOIN node USING (node_key)")
    return {segment_name(node, boot, seq) for node, boot, first, last in stretches for seq in range(first, last + 1)}


def host(ts_ms: int, cpu_ms: int, holding: int = 0, span_ms: int = 10 * SECOND, mem_mib: int | None = None) -> Row:
    """A row of what a job did on the cores."""
    return {"ts_ms": ts_ms, "span_ms": span_ms, "holding": holding, "cpu_ms": cpu_ms, "mem_mib": mem_mib}


def hosts(*rows: Row) -> Table:
    """The table of such rows in a segment."""
    return Table(len(rows), {name: column([each[name] for each in rows], HOST[name]) for name in HOST})


def gpu(uuid: str = "GPU-0", **more: Any) -> Device:
    fixed = {"index": 0, "model": "NVIDIA H100 80GB HBM3", "mem_total_mib": 81_559, "baseline_mib": 0}
    return Device(uuid=uuid, **{**fixed, **more})


def hold(
    job: str = "100", start_ms: int = T0, end_ms: int | None = None, devices: Iterable[int] = (0,), **more: Any
) -> Holding:
    fixed = {"kind": "job", "cluster": "c1", "user": "ann"}
    return Holding(job_id=job, start_ms=start_ms, end_ms=end_ms, devices=tuple(devices), **{**fixed, **more})


def told(job: str = "100", start_ms: int | None = T0, end_ms: int | None = None, **more: Any) -> AccountingRun:
    fixed = {
        "cluster": "c1", "db_index": int(job) * 10, "job_id": job, "user": "ann", "account": "physics",
        "state": "RUNNING" if end_ms is None else "COMPLETED", "alloc_gpus": 1, "nodes": ("n1",),
    }  # fmt: skip
    return AccountingRun(job_id_raw=job, start_ms=start_ms, end_ms=end_ms, **{**fixed, **more})


def word(node: str = "n1", at_ms: int = T0, state: str = "IDLE", *flags: str, gpus: int = 1, **more: Any) -> NodeSeen:
    """What Slurm says of a node."""
    groups = (GpuGroup(type="h100", count=gpus),) if gpus else ()
    return NodeSeen(name=node, at_ms=at_ms, state=state, flags=flags, gpus=groups, **more)


def inventory(*nodes: NodeSeen, at_ms: int | None = None, seq: int = 0, **more: Any) -> Segment:
    """A segment of the host that reads the inventory, written at the reading."""
    at_ms = max(node.at_ms for node in nodes) if at_ms is None else at_ms
    reading = InventoryReading(at_ms=at_ms, nodes=nodes, **more)
    return segment(node="ctl", seq=seq, devices=[], inventory=(reading,), first_ms=at_ms, last_ms=at_ms)


def segment(
    rows: Sequence[Row] = (),
    *,
    node: str = "n1",
    seq: int = 0,
    devices: Sequence[Device] = (gpu(),),
    holdings: Sequence[Holding] = (),
    accounting: Sequence[AccountingRun] = (),
    events: Sequence[Event] = (),
    nulls: Sequence[NullReason] = (),
    probes: Sequence[ProbeRun] = (),
    processes: Sequence[ProcessSeen] = (),
    first_ms: int | None = None,
    last_ms: int | None = None,
    written_ms: int | None = None,
    samples: Table | None = None,
    **more: Any,
) -> Segment:
    """A segment of a Slurm node; its times are those of its rows where they are not given."""
    ends = [each["ts_ms"] for each in rows]
    first = min((each["ts_ms"] - each["span_ms"] for each in rows), default=T0) if first_ms is None else first_ms
    last = max(ends, default=first) if last_ms is None else last_ms
    fixed = {"boot_id": "b0", "cluster": "c1", "agent": "0.1.0", "interval_ms": 10_000, "slurm": True}
    return Segment(
        node=node,
        seq=seq,
        first_ms=first,
        last_ms=last,
        written_ms=last if written_ms is None else written_ms,
        devices=tuple(devices),
        holdings=tuple(holdings),
        accounting=tuple(accounting),
        events=tuple(events),
        nulls=tuple(nulls),
        probes=tuple(probes),
        processes=tuple(processes),
        samples=table(rows) if samples is None else samples,
        **{**fixed, **more},
    )


@cache
def _empty_file() -> bytes:
    with TemporaryDirectory() as directory:
        Database.open(Path(directory)).close()
        return database_file(Path(directory)).read_bytes()


def empty_store(directory: Path) -> Database:
    """Opens an empty real store in a new directory; quicker than to create every table again."""
    directory.mkdir(exist_ok=True)
    database_file(directory).write_bytes(_empty_file())
    return Database.open(directory)


def packed(*segments: Segment) -> list[tuple[str, bytes]]:
    return [(each.name, encode(each)) for each in segments]


def store(database: Database, *segments: Segment, now_ms: int = NOW) -> IngestResult:
    """Ingests the segments as one batch and brings the rollups up to date."""
    result = ingest(database, packed(*segments), now_ms)
    while roll_up(database):
        pass
    return result


def hours(database: Database) -> list[dict[str, Any]]:
    """The rows of gpu_hour with names for keys, in an order that does not depend on the keys."""
    return named(database, "gpu_hour")


def named(database: Database, name: str) -> list[dict[str, Any]]:
    with database.cursor() as cursor:
        found = cursor.arrow(f"""
            SELECT t.* EXCLUDE (node_key, gpu_key, run_key), n.name AS node, g.uuid AS gpu,
                r.cluster || ':' || r.job_id_raw || '@' || r.start_ms AS run
            FROM {name} t LEFT JOIN node n USING (node_key) LEFT JOIN gpu g USING (gpu_key)
                LEFT JOIN run r USING (run_key)
            ORDER BY ALL""")
    return found.to_pylist()
