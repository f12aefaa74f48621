"""Nodes and their GPUs: what they do now, who holds them, and how the last 24 hours were."""

import msgspec

from analytics.model import Viewer
from analytics.queries.events import EventRow
from analytics.queries.lanes import Stretch
from store.database import Cursor


class GpuNow(msgspec.Struct, frozen=True, kw_only=True):
    """The newest reading of a GPU. ``state`` is unknown where the newest row is older than 3 intervals."""

    gpu_key: int
    uuid: str
    index: int | None
    model: str | None
    state: str
    run_key: int | None
    job_id: str | None
    user: str | None
    util_pct: float | None
    mem_used_mib: float | None
    mem_total_mib: int | None
    power_w: float | None
    power_limit_w: float | None
    temp_c: float | None
    row_ms: int | None


class NodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A node. ``age_ms`` is the time since its newest row; ``silent`` where that is more than 3 intervals."""

    name: str
    cluster: str
    slurm: bool
    gpus: int
    model: str | None
    driver_version: str | None
    agent_version: str | None
    interval_ms: int
    first_ms: int
    last_ms: int
    age_ms: int
    silent: bool
    skew_ms: int | None
    held_gpu_h_day: float
    idle_gpu_h_day: float
    coverage_day: float | None
    gpu_now: list[GpuNow]


class GpuDay(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU's last 24 hours: its states, and who held it beneath."""

    gpu: GpuNow
    pci_bus_id: str | None
    minor: int | None
    stretches: list[Stretch]
    holders: list["Holder"]


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A run that held a GPU."""

    run_key: int
    job_id: str
    user: str | None
    start_ms: int
    end_ms: int | None


class NodeDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A node with each GPU's day and the node's newest events."""

    node: NodeRow
    gpus: list[GpuDay]
    events: list[EventRow]


def nodes(cur: Cursor, viewer: Viewer, now_ms: int) -> list[NodeRow]:
    """Returns every node by name. ``now_ms`` tells the age; on data at rest pass the moment the data reaches to."""
    raise NotImplementedError


def node(cur: Cursor, viewer: Viewer, name: str, now_ms: int) -> NodeDetail | None:
    """Returns one node, or None where there is none of that name."""
    raise NotImplementedError
