"""The segment: the one format between a node's spool, the wire and the hub's inbox.

A segment is immutable and named by (node, boot id, sequence); the name is its idempotency key. On disk and on the wire:

    magic "GPUL" | version u8 | head length u32 LE | head (MessagePack) | body (zlib level 1 of MessagePack)

The head is small and uncompressed, so a receiver can check name, length and checksum, and refuse a synthetic segment,
without inflating the body. The body holds tables as columns of raw little-endian bytes with a validity bitmap
(bit i of byte i // 8, least significant first, 1 = valid: Arrow's own layout), so the hub makes Arrow arrays from it
without a loop and the node needs neither numpy nor pyarrow.
"""

import re
import struct
import zlib
from typing import Final

import msgspec

from store.segment_inventory import (
    AccountSeen,
    AccountUsage,
    GpuGroup,
    InventoryReading,
    NodeSeen,
    PartitionSeen,
    ReservationSeen,
    standing,
)
from store.segment_slurm import AccountingRun, LiveRun, NodeGpus, PendingGpus, QueuePoll

__all__ = [
    "MAGIC", "MAX_BODY_BYTES", "MAX_HEAD_BYTES", "VERSION", "AccountSeen", "AccountUsage", "AccountingRun", "Column",
    "Device", "Event", "GpuGroup", "Head", "Holding", "InventoryReading", "LiveRun", "NodeGpus", "NodeSeen",
    "NullReason", "PartitionSeen", "PendingGpus", "ProbeRun", "ProcessSeen", "QueuePoll", "ReservationSeen", "Segment",
    "SegmentError", "Table", "decode", "encode", "read_head", "segment_name", "standing",
]  # fmt: skip


MAGIC: Final = b"GPUL"
VERSION: Final = 1
MAX_BODY_BYTES: Final = 64 * 1024 * 1024  # inflated; a guard against decompression bombs. 200,000 rows have 16 MiB
MAX_HEAD_BYTES: Final = 64 * 1024
_PREFIX = struct.Struct("<4sBI")
_NAME_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_DTYPE = re.compile(r"[a-z]([1248])")


class SegmentError(ValueError):
    """Bytes that are not a segment this version can read. The message is one sentence for the log and Health page."""


# gc=False where fields are plain values: nothing of these can be part of a cycle, and a batch holds tens of thousands.


class Device(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A GPU or MIG instance as the node saw it during the segment; None where the driver did not say."""

    uuid: str
    index: int | None = None
    minor: int | None = None
    pci_bus_id: str | None = None
    model: str | None = None
    mem_total_mib: int | None = None
    baseline_mib: int | None = None  # memory in use that belongs to nobody, valid for the whole segment
    power_limit_w: float | None = None
    slices: int = 1  # numerator and denominator of the share of a physical GPU
    slices_of: int = 1
    parent_uuid: str | None = None
    in_mig_mode: bool = False  # cut into instances: its own utilization cannot be read
    driver_version: str | None = None
    position: int | None = None  # its place in Slurm's own list of this node's GPUs: IDX and SLURM_JOB_GPUS count it
    pcie_mib_s: int | None = None  # what one direction of its links carries at most; of all NVLinks together
    nvlink_mib_s: int | None = None


class Holding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run's hold of this node's GPUs, as the node knows it. ``end_ms`` is None while it lasts."""

    kind: str  # "job", or "session" on a host without Slurm
    cluster: str
    job_id: str  # the raw Slurm job id; for a session an id that the node made
    start_ms: int
    end_ms: int | None = None
    restart: int = 0
    uid: int | None = None
    user: str | None = None
    account: str | None = None
    partition: str | None = None
    name: str | None = None
    devices: tuple[int, ...] = ()  # positions in Segment.devices
    source: str = "hook"  # hook, site (files of its own), step (environment), cgroup, poll, process
    shared: bool = False  # shards or MPS: never judged
    may_share: bool = False  # the node gives away shards or MPS, and it cannot be told whether this is one


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Something that happened at a moment: gpu_lost, gpu_back, driver_missing, agent_started, rows_dropped ..."""

    ts_ms: int
    kind: str
    device: int | None = None
    detail: str = ""


class NullReason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Why a metric of a device is NULL from ``from_ms`` until ``to_ms`` (catalog.NULL_REASONS)."""

    device: int
    metric: str
    reason: str
    from_ms: int
    to_ms: int


class ProcessSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A compute process from its first to its last sight in the segment; PID 0 stands for ``count`` others."""

    device: int
    pid: int
    name: str = ""  # the program's, never a command line; empty where it had ended before it could be asked
    uid: int | None = None
    from_ms: int
    to_ms: int
    mem_max_mib: int | None = None
    holding: int | None = None  # position in Segment.holdings; None: whose work it is cannot be told
    count: int = 1


class ProbeRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Record of a probe over the segment; the Health page shows it with the same columns as the hub's job log."""

    probe: str
    at_ms: int
    duration_ms: float
    ok: bool = True
    rows: int = 0
    runs: int = 1
    error: str = ""


class Column(msgspec.Struct, frozen=True, gc=False):
    """Raw little-endian values; ``valid`` is a bitmap, empty where every value is valid."""

    dtype: str
    data: bytes
    valid: bytes = b""


class Table(msgspec.Struct, frozen=True):
    """Columns of equal length by catalogue name."""

    rows: int = 0
    columns: dict[str, Column] = {}


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What a receiver needs to know before it inflates anything."""

    node: str
    boot_id: str
    seq: int
    cluster: str
    synthetic: bool
    rows: int
    first_ms: int
    last_ms: int
    written_ms: int
    body_bytes: int
    body_crc: int

    @property
    def name(self) -> str:
        """The idempotency key, also the file name."""
        return segment_name(self.node, self.boot_id, self.seq)


class Segment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a node has to say about one stretch of time."""

    node: str
    boot_id: str  # of the agent's own start: a new one at each start, so sequences never collide
    seq: int
    cluster: str
    agent: str  # version
    interval_ms: int
    first_ms: int
    last_ms: int
    written_ms: int
    synthetic: bool = False
    slurm: bool = False  # whether this host belongs to a Slurm cluster
    devices: tuple[Device, ...] = ()
    holdings: tuple[Holding, ...] = ()
    samples: Table = Table()
    accounting: tuple[AccountingRun, ...] = ()
    events: tuple[Event, ...] = ()
    nulls: tuple[NullReason, ...] = ()
    processes: tuple[ProcessSeen, ...] = ()
    probes: tuple[ProbeRun, ...] = ()
    queue: tuple[QueuePoll, ...] = ()
    inventory: tuple[InventoryReading, ...] = ()
    hosts: Table = Table()  # what jobs did on the cores: catalog.HOST

    @property
    def name(self) -> str:
        """The idempotency key, also the file name."""
        return segment_name(self.node, self.boot_id, self.seq)


_head_encoder = msgspec.msgpack.Encoder()
_head_decoder = msgspec.msgpack.Decoder(Head)
_body_decoder = msgspec.msgpack.Decoder(Segment)
_UNREADABLE = (msgspec.MsgspecError, RecursionError)  # the latter where an unknown field is nested without end


def segment_name(node: str, boot_id: str, seq: int) -> str:
    """Returns ``node~boot~0000000042``; raises SegmentError on a node or boot id that is no plain host-like word."""
    if not (_NAME_PART.fullmatch(node) and _NAME_PART.fullmatch(boot_id)) or not 0 <= seq < 10**10:
        raise SegmentError(f"segment name refused: {node!r}, {boot_id!r}, {seq!r} are not two plain words and a number")
    return f"{node}~{boot_id}~{seq:010d}"


def encode(segment: Segment) -> bytes:
    """Returns the bytes of a segment, as they lie in the spool and travel."""
    body = zlib.compress(_head_encoder.encode(segment), 1)
    head = Head(
        node=segment.node,
        boot_id=segment.boot_id,
        seq=segment.seq,
        cluster=segment.cluster,
        synthetic=segment.synthetic,
        rows=segment.samples.rows,
        first_ms=segment.first_ms,
        last_ms=segment.last_ms,
        written_ms=segment.written_ms,
        body_bytes=len(body),
        body_crc=zlib.crc32(body),
    )
    _ = head.name  # refuses names that could not be files
    head_bytes = _head_encoder.encode(head)
    return _PREFIX.pack(MAGIC, VERSION, len(head_bytes)) + head_bytes + body


def read_head(data: bytes) -> tuple[Head, int]:
    """Returns the head and the offset of the body; raises SegmentError on foreign, truncated or corrupt bytes."""
    if len(data) < _PREFIX.size:
        raise SegmentError(f"not a segment: {len(data)} bytes, shorter than the smallest head")
    magic, version, head_len = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise SegmentError("not a segment: it does not begin with GPUL")
    if version != VERSION:
        raise SegmentError(f"segment format {version} is not known here (this hub reads {VERSION}); upgrade the hub")
    if head_len > MAX_HEAD_BYTES or len(data) < _PREFIX.size + head_len:
        raise SegmentError("segment truncated inside its head")
    offset = _PREFIX.size + head_len
    try:
        head = _head_decoder.decode(memoryview(data)[_PREFIX.size : offset])
    except _UNREADABLE as error:
        raise SegmentError(f"segment head unreadable: {error}") from error
    if len(data) - offset != head.body_bytes:
        raise SegmentError(f"segment truncated: {len(data) - offset} of {head.body_bytes} body bytes")
    if zlib.crc32(memoryview(data)[offset:]) != head.body_crc:
        raise SegmentError("segment damaged: its checksum does not match")
    _ = head.name
    return head, offset


def decode(data: bytes) -> Segment:
    """Returns the segment; raises SegmentError with one sentence on anything else."""
    head, offset = read_head(data)
    inflater = zlib.decompressobj()
    try:
        body = inflater.decompress(memoryview(data)[offset:], MAX_BODY_BYTES)
    except zlib.error as error:
        raise SegmentError(f"segment body unreadable: {error}") from error
    if inflater.unconsumed_tail:
        raise SegmentError(f"segment refused: it inflates to more than {MAX_BODY_BYTES} bytes")
    try:
        segment = _body_decoder.decode(body)
    except _UNREADABLE as error:
        raise SegmentError(f"segment body unreadable: {error}") from error
    if segment.name != head.name or segment.synthetic != head.synthetic or segment.samples.rows != head.rows:
        raise SegmentError("segment refused: head and body disagree")
    _check_table(segment.samples)
    _check_table(segment.hosts)
    return segment


def _check_table(table: Table) -> None:
    for name, column in table.columns.items():
        dtype = _DTYPE.fullmatch(column.dtype)
        if dtype is None or len(column.data) != int(dtype[1]) * table.rows:
            wanted = f"{table.rows} values of {column.dtype[:80]!r}"
            raise SegmentError(f"segment refused: column {name[:80]!r} does not hold {wanted}")
        if column.valid and len(column.valid) != (table.rows + 7) // 8:
            raise SegmentError(f"segment refused: validity of column {name[:80]!r} has the wrong length")
