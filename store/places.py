"""Nodes and GPUs as segments show them: keys by name and UUID, first and last sight, the newest attributes."""

from collections.abc import Sequence
from typing import Final

import msgspec
import pyarrow as pa

from store.columns import from_tuples
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


_FOUND_NODES: Final = """
    SELECT b.name, n.node_key, n.last_ms, b.first_ms < n.first_ms FROM batch_node b LEFT JOIN node n USING (name)"""
_NEW_NODES: Final = """
    INSERT INTO node SELECT nextval('node_keys'), * FROM (SELECT * FROM batch_node ANTI JOIN node USING (name))"""
_EARLIER_NODES: Final = """
    UPDATE node SET first_ms = b.first_ms FROM batch_node b WHERE b.name = node.name AND b.first_ms < node.first_ms"""
_NEWER_NODES: Final = """
    UPDATE node SET cluster = b.cluster, slurm = b.slurm, interval_ms = b.interval_ms, last_ms = b.last_ms,
        agent_version = b.agent_version, driver_version = coalesce(b.driver_version, node.driver_version),
        received_ms = b.received_ms, skew_ms = b.skew_ms
    FROM batch_node b WHERE b.name = node.name AND b.last_ms >= node.last_ms"""

# An attribute that the driver did not tell this time stays as it was known. A place in Slurm's list does not: where the
# order cannot be told any more, the old one would name another GPU.
_TOLD: Final = {
    "node_key": "n.node_key",
    **{
        name: f"coalesce(b.{name}, gpu.{name})"
        for name in ("model", "idx", "minor", "pci_bus_id", "mem_total_mib", "power_limit_w", "parent_uuid")
    },
    **{name: f"b.{name}" for name in ("slices", "slices_of", "position")},
    **{name: f"coalesce(b.{name}, gpu.{name})" for name in ("pcie_mib_s", "nvlink_mib_s")},
}
_CHANGED: Final = " OR ".join(f"gpu.{name} IS DISTINCT FROM {told}" for name, told in _TOLD.items())
_FOUND_GPUS: Final = f"""
    SELECT b.uuid, gpu.gpu_key, gpu.node_key, gpu.first_ms, CASE WHEN b.last_ms >= gpu.last_ms THEN n.node_key
        ELSE gpu.node_key END, least(b.first_ms, gpu.first_ms), b.last_ms >= gpu.last_ms AND ({_CHANGED})
    FROM batch_gpu b JOIN node n ON n.name = b.node LEFT JOIN gpu USING (uuid)"""  # noqa: S608 - names from above
_NEW_GPUS: Final = """
    INSERT INTO gpu SELECT nextval('gpu_keys'), b.uuid, n.node_key, b.model, b.idx, b.minor, b.pci_bus_id,
        b.mem_total_mib, b.power_limit_w, b.slices, b.slices_of, b.parent_uuid, b.first_ms, b.last_ms,
        b.position, b.pcie_mib_s, b.nvlink_mib_s
    FROM (SELECT * FROM batch_gpu ANTI JOIN gpu USING (uuid)) b JOIN node n ON n.name = b.node
    RETURNING uuid, gpu_key, node_key, first_ms"""
_EARLIER_GPUS: Final = """
    UPDATE gpu SET first_ms = b.first_ms FROM batch_gpu b WHERE b.uuid = gpu.uuid AND b.first_ms < gpu.first_ms"""
_OTHER_GPUS: Final = f"""
    UPDATE gpu SET {", ".join(f"{name} = {told}" for name, told in _TOLD.items())}
    FROM batch_gpu b JOIN node n ON n.name = b.node WHERE b.uuid = gpu.uuid AND b.last_ms >= gpu.last_ms"""  # noqa: S608
_NEWER_GPUS: Final = """
    UPDATE gpu SET last_ms = b.last_ms FROM batch_gpu b WHERE b.uuid = gpu.uuid AND b.last_ms > gpu.last_ms"""

Place = tuple[int, int]
"""node_key of a GPU, and when it was first seen."""


class Nodes(msgspec.Struct, frozen=True):
    """node_key by name of the nodes of a batch, and how far the data of each that was known reached before."""

    keys: dict[str, int]
    reached_ms: dict[str, int]


class Gpus(msgspec.Struct, frozen=True):
    """gpu_key by UUID of the GPUs of a batch, and by gpu_key where each was, if it was known, and where it is."""

    keys: dict[str, int]
    before: dict[int, Place]
    now: dict[int, Place]


def keep_nodes(cursor: Cursor, segments: Sequence[tuple[Segment, int]], received_ms: int) -> Nodes:
    """Stores the nodes of (segment, time of its last row).

    ``skew_ms`` is the node's clock minus the hub's when its newest segment came in: positive means ahead, negative may
    also be the time that delivery took.
    """
    rows: dict[str, tuple[object, ...]] = {}
    firsts: dict[str, int] = {}
    for segment, last_ms in sorted(segments, key=lambda item: item[1]):
        firsts[segment.node] = min(firsts.get(segment.node, segment.first_ms), segment.first_ms)
        driver = next((device.driver_version for device in segment.devices if device.driver_version), None)
        rows[segment.node] = (
            *(segment.node, segment.cluster, segment.slurm, segment.interval_ms, segment.agent, driver),
            *(firsts[segment.node], last_ms, received_ms, segment.written_ms - received_ms),
        )
    with cursor.table("batch_node", from_tuples(list(rows.values()), _NODE)):
        found = cursor.tuples(_FOUND_NODES)
        known = {name: (key, reached_ms) for name, key, reached_ms, _ in found if key is not None}
        if any(is_earlier for *_, is_earlier in found):
            cursor.execute(_EARLIER_NODES)
        if known:
            cursor.execute(_NEWER_NODES)
        new = cursor.tuples(f"{_NEW_NODES} RETURNING name, node_key") if len(known) < len(found) else []
    return Nodes(
        {name: key for name, (key, _) in known.items()} | dict(new),
        {name: reached_ms for name, (_, reached_ms) in known.items()},
    )


def keep_gpus(cursor: Cursor, segments: Sequence[tuple[Segment, int]]) -> Gpus:
    """Stores the devices of (segment, time of its last row); nodes come first.

    What a GPU is hardly ever changes: mostly all that is written is how far its data reaches.
    """
    rows: dict[str, tuple[object, ...]] = {}
    firsts: dict[str, int] = {}
    for segment, last_ms in sorted(segments, key=lambda item: item[1]):
        for one in segment.devices:
            first_ms = firsts[one.uuid] = min(firsts.get(one.uuid, segment.first_ms), segment.first_ms)
            rows[one.uuid] = (
                *(one.uuid, segment.node, one.model, one.index, one.minor, one.pci_bus_id, one.mem_total_mib),
                *(one.power_limit_w, one.slices, one.slices_of, one.parent_uuid, first_ms, last_ms, one.position),
                *(one.pcie_mib_s, one.nvlink_mib_s),
            )
    if not rows:
        return Gpus({}, {}, {})
    with cursor.table("batch_gpu", from_tuples(list(rows.values()), _GPU)):
        found = cursor.tuples(_FOUND_GPUS)
        known = [row for row in found if row[1] is not None]
        if any(row[5] < row[3] for row in known):
            cursor.execute(_EARLIER_GPUS)
        if any(row[6] for row in known):
            cursor.execute(_OTHER_GPUS)
        if known:
            cursor.execute(_NEWER_GPUS)
        new = cursor.tuples(_NEW_GPUS) if len(known) < len(found) else []
    return Gpus(
        {uuid: key for uuid, key, *_ in (*known, *new)},
        {key: (node, first_ms) for _, key, node, first_ms, *_ in known},
        {key: (node, first_ms) for _, key, _, _, node, first_ms, _ in known}
        | {key: (node, first_ms) for _, key, node, first_ms in new},
    )
