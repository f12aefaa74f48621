"""Nodes and GPUs as segments show them: keys by name and UUID, first and last sight, the newest attributes."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from store.database import Cursor
from store.segment import Segment

_NODE: Final = pa.schema(
    {
        "name": pa.string(), "cluster": pa.string(), "slurm": pa.bool_(), "interval_ms": pa.int32(),
        "agent_version": pa.string(), "driver_version": pa.string(),
        "first_ms": pa.int64(), "last_ms": pa.int64(), "received_ms": pa.int64(), "skew_ms": pa.int64(),
    }
)  # fmt: skip
_GPU: Final = pa.schema(
    {
        "uuid": pa.string(), "node": pa.string(), "model": pa.string(), "idx": pa.int32(), "minor": pa.int32(),
        "pci_bus_id": pa.string(), "mem_total_mib": pa.int32(), "power_limit_w": pa.float64(),
        "slices": pa.int32(), "slices_of": pa.int32(), "parent_uuid": pa.string(),
        "first_ms": pa.int64(), "last_ms": pa.int64(), "position": pa.int32(),
        "pcie_mib_s": pa.int64(), "nvlink_mib_s": pa.int64(),
    }
)  # fmt: skip


def keep_nodes(cursor: Cursor, segments: Sequence[tuple[Segment, int]], received_ms: int) -> dict[str, int]:
    """Stores the nodes of (segment, time of its last row) and returns node_key by name.

    ``skew_ms`` is the node's clock minus the hub's when its newest segment came in: positive means ahead, negative may
    also be the time that delivery took.
    """
    rows: dict[str, dict[str, object]] = {}
    firsts: dict[str, int] = {}
    for segment, last_ms in sorted(segments, key=lambda item: item[1]):
        firsts[segment.node] = min(firsts.get(segment.node, segment.first_ms), segment.first_ms)
        driver = next((device.driver_version for device in segment.devices if device.driver_version), None)
        rows[segment.node] = {
            "name": segment.node,
            "cluster": segment.cluster,
            "slurm": segment.slurm,
            "interval_ms": segment.interval_ms,
            "agent_version": segment.agent,
            "driver_version": driver,
            "first_ms": firsts[segment.node],
            "last_ms": last_ms,
            "received_ms": received_ms,
            "skew_ms": segment.written_ms - received_ms,
        }
    with cursor.table("batch_node", pa.Table.from_pylist(list(rows.values()), schema=_NODE)):
        cursor.execute("""
            INSERT INTO node SELECT nextval('node_keys'), * FROM (SELECT * FROM batch_node ANTI JOIN node USING (name))
            """)
        cursor.execute("""
            UPDATE node SET first_ms = b.first_ms FROM batch_node b
            WHERE b.name = node.name AND b.first_ms < node.first_ms""")
        cursor.execute("""
            UPDATE node SET cluster = b.cluster, slurm = b.slurm, interval_ms = b.interval_ms, last_ms = b.last_ms,
                agent_version = b.agent_version, driver_version = coalesce(b.driver_version, node.driver_version),
                received_ms = b.received_ms, skew_ms = b.skew_ms
            FROM batch_node b WHERE b.name = node.name AND b.last_ms >= node.last_ms""")
        found = cursor.tuples("SELECT name, node_key FROM node SEMI JOIN batch_node USING (name)")
    return dict(found)


def keep_gpus(cursor: Cursor, segments: Sequence[tuple[Segment, int]]) -> dict[str, int]:
    """Stores the devices of (segment, time of its last row) and returns gpu_key by UUID; nodes come first."""
    rows: dict[str, dict[str, object]] = {}
    firsts: dict[str, int] = {}
    for segment, last_ms in sorted(segments, key=lambda item: item[1]):
        for device in segment.devices:
            firsts[device.uuid] = min(firsts.get(device.uuid, segment.first_ms), segment.first_ms)
            rows[device.uuid] = {
                "uuid": device.uuid,
                "node": segment.node,
                "model": device.model,
                "idx": device.index,
                "minor": device.minor,
                "pci_bus_id": device.pci_bus_id,
                "mem_total_mib": device.mem_total_mib,
                "power_limit_w": device.power_limit_w,
                "slices": device.slices,
                "slices_of": device.slices_of,
                "parent_uuid": device.parent_uuid,
                "first_ms": firsts[device.uuid],
                "last_ms": last_ms,
                "position": device.position,
                "pcie_mib_s": device.pcie_mib_s,
                "nvlink_mib_s": device.nvlink_mib_s,
            }
    with cursor.table("batch_gpu", pa.Table.from_pylist(list(rows.values()), schema=_GPU)):
        cursor.execute("""
            INSERT INTO gpu SELECT nextval('gpu_keys'), b.uuid, n.node_key, b.model, b.idx, b.minor, b.pci_bus_id,
                b.mem_total_mib, b.power_limit_w, b.slices, b.slices_of, b.parent_uuid, b.first_ms, b.last_ms,
                b.position, b.pcie_mib_s, b.nvlink_mib_s
            FROM (SELECT * FROM batch_gpu ANTI JOIN gpu USING (uuid)) b JOIN node n ON n.name = b.node""")
        cursor.execute("""
            UPDATE gpu SET first_ms = b.first_ms FROM batch_gpu b
            WHERE b.uuid = gpu.uuid AND b.first_ms < gpu.first_ms""")
        # An attribute that the driver did not tell this time stays as it was known. A place in Slurm's list does not:
        # where the order cannot be told any more, the old one would name another GPU.
        cursor.execute("""
            UPDATE gpu SET node_key = n.node_key, model = coalesce(b.model, gpu.model), idx = coalesce(b.idx, gpu.idx),
                minor = coalesce(b.minor, gpu.minor), pci_bus_id = coalesce(b.pci_bus_id, gpu.pci_bus_id),
                mem_total_mib = coalesce(b.mem_total_mib, gpu.mem_total_mib),
                power_limit_w = coalesce(b.power_limit_w, gpu.power_limit_w), slices = b.slices,
                slices_of = b.slices_of, parent_uuid = coalesce(b.parent_uuid, gpu.parent_uuid), last_ms = b.last_ms,
                position = b.position, pcie_mib_s = coalesce(b.pcie_mib_s, gpu.pcie_mib_s),
                nvlink_mib_s = coalesce(b.nvlink_mib_s, gpu.nvlink_mib_s)
            FROM batch_gpu b JOIN node n ON n.name = b.node WHERE b.uuid = gpu.uuid AND b.last_ms >= gpu.last_ms""")
        found = cursor.tuples("SELECT uuid, gpu_key FROM gpu SEMI JOIN batch_gpu USING (uuid)")
    return dict(found)
