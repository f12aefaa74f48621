"""What probes hand to the agent: a moment, values or the reason for their absence, rows, processes."""

import time
from enum import StrEnum
from typing import NamedTuple

import msgspec

from store.segment import AccountingRun, Event, InventoryReading, QueuePoll


class DriverMissing(Exception):
    """There is no usable driver now. The message is one sentence with the next step."""


class DriverLost(Exception):
    """The driver that had been opened is gone (unloaded or reloaded); handles are void until it is opened again."""


class Reason(StrEnum):
    """Why there is no value; the members are the keys of store.catalog.NULL_REASONS."""

    NOT_SUPPORTED = "not_supported"
    OUT_OF_RANGE = "out_of_range"
    FAILED = "failed"
    GPU_LOST = "gpu_lost"
    NO_PERMISSION = "no_permission"
    WRAPS = "wraps"


class Moment(NamedTuple):
    """One instant on both clocks: ``wall_ms`` names it, ``steady_s`` measures from one to the next.

    The wall clock steps (NTP at boot, a suspended laptop); lengths of time come from the steady clock alone.
    """

    wall_ms: int
    steady_s: float

    @classmethod
    def now(cls) -> "Moment":
        return cls(time.time_ns() // 1_000_000, time.monotonic())


Values = dict[str, int | Reason]
"""Stored values (scaled integers) by catalogue name, or why there is none."""


def add_values(values: Values, more: Values) -> None:
    """Adds values of another probe: what is told already stays.

    But any value is better than a reason, and any reason than "not supported": the other one had it to offer.
    """
    for metric, value in more.items():
        known = values.get(metric, Reason.NOT_SUPPORTED)
        if known is Reason.NOT_SUPPORTED or (isinstance(known, Reason) and not isinstance(value, Reason)):
            values[metric] = value


class Memory(NamedTuple):
    """Device memory in MiB; ``used`` without the driver's reserve."""

    used: int
    reserved: int


class Utilization(NamedTuple):
    """The driver's current reading, in percent."""

    gpu: int
    memory: int


class Row(NamedTuple):
    """One reading of one GPU, for the ``span_ms`` up to ``ts_ms``."""

    device: int
    ts_ms: int
    span_ms: int
    values: Values


class HostRow(NamedTuple):
    """What one job did on the cores of this node in the ``span_ms`` up to ``ts_ms``. ``mem_mib`` None: not counted."""

    job_id: str
    ts_ms: int
    span_ms: int
    cpu_ms: int
    mem_mib: int | None


class GpuProcess(NamedTuple):
    """A process with a compute context on a GPU. ``uid`` is None where the process has ended since or hides."""

    pid: int
    uid: int | None
    name: str
    used_mib: int | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one reading of one probe adds. ``error`` is one sentence where an expected condition kept it from more."""

    rows: tuple[Row, ...] = ()
    absent: tuple[int, ...] = ()  # devices known from before that do not answer now
    values: dict[int, Values] = {}  # by device: more values for the rows of the same moment
    processes: dict[int, tuple[GpuProcess, ...]] = {}  # by device; a device that is not a key is not known now
    accounting: tuple[AccountingRun, ...] = ()
    queue: tuple[QueuePoll, ...] = ()
    hosts: tuple[HostRow, ...] = ()
    events: tuple[Event, ...] = ()
    inventory: InventoryReading | None = None
    count: int = 0  # what the Health page shows as rows
    error: str = ""
