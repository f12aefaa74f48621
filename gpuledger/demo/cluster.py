"""The machines: GPU models with their electrical habits, nodes, partitions."""

import hashlib
import uuid

import msgspec

from gpuledger.demo.settings import DemoSettings
from store.segment import Device

NAME = "aurora"
DRIVER = "570.124.06"
BASELINE_MIB = 4
USABLE = 0.865  # of what a link carries by its specification
HOUR_S = 3600
DAY_S = 86_400


class GpuModel(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU model as the driver shows it. ``context_w`` is what an open context adds to idle power."""

    name: str
    gres: str
    mem_total_mib: int
    mem_reserved_mib: int
    limit_w: float
    idle_w: float
    context_w: float
    sm_mhz: int
    sm_idle_mhz: int
    mem_mhz: int
    mem_idle_mhz: int
    has_gpm: bool
    pcie_mib_s: float  # one direction, as programs get it
    nvlink_mib_s: float  # one direction of all links together; 0: none
    price_per_gpu_h: float
    cores_per_gpu: int  # of the nodes that hold it
    ambient_c: float
    warming_c_per_w: float


H100 = GpuModel(
    name="NVIDIA H100 80GB HBM3",
    gres="h100",
    mem_total_mib=81_559,
    mem_reserved_mib=555,
    limit_w=700,
    idle_w=69,
    context_w=46,
    sm_mhz=1980,
    sm_idle_mhz=345,
    mem_mhz=2619,
    mem_idle_mhz=2619,  # HBM3 keeps its clock when idle
    has_gpm=True,
    pcie_mib_s=52_000,
    nvlink_mib_s=400_000,
    price_per_gpu_h=3.20,
    cores_per_gpu=12,
    ambient_c=27,
    warming_c_per_w=0.058,
)
A100 = GpuModel(
    name="NVIDIA A100-SXM4-40GB",
    gres="a100",
    mem_total_mib=40_960,
    mem_reserved_mib=571,
    limit_w=400,
    idle_w=51,
    context_w=27,
    sm_mhz=1410,
    sm_idle_mhz=210,
    mem_mhz=1215,
    mem_idle_mhz=1215,
    has_gpm=False,
    pcie_mib_s=24_000,
    nvlink_mib_s=260_000,
    price_per_gpu_h=1.60,
    cores_per_gpu=16,
    ambient_c=26,
    warming_c_per_w=0.095,
)
L40S = GpuModel(
    name="NVIDIA L40S",
    gres="l40s",
    mem_total_mib=46_068,
    mem_reserved_mib=626,
    limit_w=350,
    idle_w=34,
    context_w=52,
    sm_mhz=2520,
    sm_idle_mhz=210,
    mem_mhz=9001,
    mem_idle_mhz=405,
    has_gpm=False,
    pcie_mib_s=24_000,
    nvlink_mib_s=0,
    price_per_gpu_h=1.10,
    cores_per_gpu=8,
    ambient_c=25,
    warming_c_per_w=0.13,
)
MODELS = (H100, A100, L40S)


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A compute node with equal GPUs."""

    ordinal: int
    name: str
    model: GpuModel
    devices: tuple[Device, ...]


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that one queue serves; a node may sit in several."""

    name: str
    nodes: tuple[int, ...]
    max_time_s: int


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """All that exists."""

    nodes: tuple[Node, ...]
    partitions: dict[str, Partition]

    @property
    def gpus_per_node(self) -> int:
        """GPUs of every node."""
        return len(self.nodes[0].devices)

    @property
    def gpus(self) -> int:
        """GPUs of the cluster."""
        return len(self.nodes) * self.gpus_per_node


def build(settings: DemoSettings) -> Cluster:
    """Returns the cluster: 3 of 8 nodes H100, 3 of 8 A100, the rest L40S; a small one has what fits."""
    counts = _nodes_by_model(settings.nodes)
    nodes: list[Node] = []
    for model in MODELS:
        for number in range(1, counts[model.gres] + 1):
            name = f"{model.gres}-{number:02d}"
            devices = tuple(_device(settings, name, model, index) for index in range(settings.gpus))
            nodes.append(Node(ordinal=len(nodes), name=name, model=model, devices=devices))
    return Cluster(nodes=tuple(nodes), partitions=_partitions(nodes))


def _nodes_by_model(nodes: int) -> dict[str, int]:
    l40s = max(1, nodes // 4) if nodes >= 3 else 0
    h100 = (nodes - l40s) // 2
    return {"h100": h100, "a100": nodes - l40s - h100, "l40s": l40s}


def _partitions(nodes: list[Node]) -> dict[str, Partition]:
    def of(*gres: str) -> tuple[int, ...]:
        found = tuple(node.ordinal for node in nodes if node.model.gres in gres)
        return found or tuple(node.ordinal for node in nodes)

    partitions = (
        Partition(name="h100", nodes=of("h100"), max_time_s=7 * DAY_S),
        Partition(name="a100", nodes=of("a100"), max_time_s=4 * DAY_S),
        Partition(name="l40s", nodes=of("l40s"), max_time_s=4 * DAY_S),
        Partition(name="interactive", nodes=of("l40s", "a100")[::-1], max_time_s=DAY_S),
        Partition(name="debug", nodes=of("a100"), max_time_s=HOUR_S),
    )
    return {partition.name: partition for partition in partitions}


def _device(settings: DemoSettings, node: str, model: GpuModel, index: int) -> Device:
    digest = hashlib.sha256(f"{settings.seed}/{node}/{index}".encode()).digest()
    return Device(
        uuid=f"GPU-{uuid.UUID(bytes=digest[:16])}",
        index=index,
        minor=index,
        pci_bus_id=f"00000000:{0x18 + 0x0E * index:02X}:00.0",
        model=model.name,
        mem_total_mib=model.mem_total_mib,
        baseline_mib=BASELINE_MIB,
        power_limit_w=model.limit_w,
        driver_version=DRIVER,
        pcie_mib_s=round(model.pcie_mib_s / USABLE),
        nvlink_mib_s=round(model.nvlink_mib_s / USABLE) or None,
    )
