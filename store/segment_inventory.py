"""What a Slurm cluster has, as it travels in a segment: nodes, partitions, reservations and accounts at a moment.

None and empty everywhere where Slurm says nothing usable.
"""

from collections.abc import Collection
from typing import Final, Literal

import msgspec

Standing = Literal["up", "offline", "reserved"]
"""Whether jobs may begin on a node: on one that is up, on none that is offline, or on a reserved one only some."""

_OFFLINE_STATES: Final = frozenset({"DOWN", "ERROR", "UNKNOWN"})
_OFFLINE_FLAGS: Final = frozenset({"DRAIN", "DRAINED", "DRAINING", "FAIL", "MAINT", "MAINTENANCE", "INVALID_REG"})


class GpuGroup(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """GPUs of one type on a node, as slurm.conf lists them; a MIG instance is one of them, with its profile as type."""

    type: str = ""  # empty where gres.conf names none
    count: int


class NodeSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node as slurmctld has it from ``at_ms`` on, until it is told anew."""

    name: str
    at_ms: int
    state: str  # Slurm's word: IDLE, MIXED, ALLOCATED, DOWN ...
    flags: tuple[str, ...] = ()  # DRAIN, MAINTENANCE, RESERVED, POWERED_DOWN ..., sorted
    gpus: tuple[GpuGroup, ...] = ()
    gpus_used: int | None = None  # allocated to jobs, whoever they belong to
    cpus: int | None = None
    cpus_used: int | None = None
    mem_mib: int | None = None
    mem_used_mib: int | None = None  # allocated; 0 where memory is no resource that is asked for
    partitions: tuple[str, ...] = ()
    reason: str | None = None
    reason_ms: int | None = None  # when the reason was given
    boot_ms: int | None = None
    version: str | None = None  # slurmd's


class PartitionSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A partition; ``max_time_s`` is None where it is unlimited or not known."""

    name: str
    nodes: tuple[str, ...] = ()
    max_time_s: int | None = None
    is_default: bool = False
    state: str | None = None


class ReservationSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reservation, also one that is yet to begin."""

    name: str
    start_ms: int
    end_ms: int
    nodes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()  # MAINT, IGNORE_JOBS ..., sorted


class AccountSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An account of a cluster and the one above it; that of the top has none."""

    cluster: str
    name: str
    parent: str | None = None


class AccountUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What sreport counts for the people of an account on a day of UTC, once Slurm has rolled it up."""

    cluster: str
    account: str
    day_ms: int
    gpu_s: int


class InventoryReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one reading at ``at_ms`` found. ``nodes`` are those of which something is new, and once an hour all.

    Of the other kinds each one that there is is listed, or none where they were not read this time.
    """

    at_ms: int
    nodes: tuple[NodeSeen, ...] = ()
    partitions: tuple[PartitionSeen, ...] = ()
    reservations: tuple[ReservationSeen, ...] = ()
    accounts: tuple[AccountSeen, ...] = ()
    usage: tuple[AccountUsage, ...] = ()
    calls: int = 0  # requests to slurmctld that the reading cost


def standing(state: str, flags: Collection[str]) -> Standing:
    """Returns how a node stands. One that is powered down can be woken by Slurm for any job, so it is up."""
    if state in _OFFLINE_STATES or not _OFFLINE_FLAGS.isdisjoint(flags):
        return "offline"
    return "reserved" if "RESERVED" in flags or state == "RESERVED" else "up"
