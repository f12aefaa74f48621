"""What Slurm has, as readings tell it: nodes moment by moment, the rest from first to last sight.

A word about a node stands for itself, and the earliest and latest sight of a thing need no order: readings may come
late, twice and in any order.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import pyarrow as pa

from store.columns import from_tuples
from store.database import Cursor
from store.places import Gpus
from store.schema import NODE_WORD_MS, WHOLE
from store.segment import GpuGroup, InventoryReading, NodeSeen, Segment, standing

_NODE: Final = pa.schema(
    {
        "cluster": pa.string(), "name": pa.string(), "at_ms": pa.int64(), "state": pa.string(), "flags": pa.string(),
        "standing": pa.string(), "gpus": pa.int32(), "gpu_units": pa.int64(), "gpu_type": pa.string(),
        "gpus_used": pa.int32(), "cpus": pa.int32(), "cpus_used": pa.int32(), "mem_mib": pa.int64(),
        "mem_used_mib": pa.int64(), "partitions": pa.string(), "reason": pa.string(), "reason_ms": pa.int64(),
        "boot_ms": pa.int64(), "version": pa.string(),
    }
)  # fmt: skip
_SIGHTS: Final = {
    "slurm_partition": pa.schema(
        {
            "cluster": pa.string(), "name": pa.string(), "nodes": pa.string(), "max_time_ms": pa.int64(),
            "is_default": pa.bool_(), "state": pa.string(), "first_ms": pa.int64(), "last_ms": pa.int64(),
        }
    ),
    "reservation": pa.schema(
        {
            "cluster": pa.string(), "name": pa.string(), "start_ms": pa.int64(), "end_ms": pa.int64(),
            "nodes": pa.string(), "flags": pa.string(), "first_ms": pa.int64(), "last_ms": pa.int64(),
        }
    ),
    "account": pa.schema(
        {
            "cluster": pa.string(), "name": pa.string(), "parent": pa.string(), "first_ms": pa.int64(),
            "last_ms": pa.int64(),
        }
    ),
}  # fmt: skip
_REQUEST: Final = pa.schema({"cluster": pa.string(), "at_ms": pa.int64(), "probe": pa.string(), "requests": pa.int32()})
_USAGE: Final = pa.schema(
    {
        "cluster": pa.string(), "account": pa.string(), "day_ms": pa.int64(), "gpu_s": pa.int64(), "at_ms": pa.int64(),
    }
)  # fmt: skip
_SAID: Final = tuple(name for name in _NODE.names if name not in {"cluster", "name", "at_ms"})
_AS_TEXT: Final = "row(" + ", ".join("{0}." + name for name in _SAID) + ")::VARCHAR"

# Two readings may tell of one moment in different words, a second having passed between two commands. Either could be
# right: the one that is greater as text counts, whichever comes first.
_KEEP_WORDS: Final = f"""
    INSERT INTO node_state BY NAME
    SELECT * FROM batch_node_state b
    QUALIFY row_number() OVER (PARTITION BY cluster, name, at_ms ORDER BY {_AS_TEXT.format("b")} DESC) = 1
    ON CONFLICT DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _SAID)}
    WHERE {_AS_TEXT.format("excluded")} > {_AS_TEXT.format("node_state")}"""  # noqa: S608 - names of columns

_KEEP_REQUESTS: Final = """
    INSERT INTO slurm_request BY NAME
    SELECT cluster, at_ms, probe, max(requests) AS requests FROM batch_request GROUP BY ALL
    ON CONFLICT DO UPDATE SET requests = greatest(requests, excluded.requests)"""

UNLIMITED: Final = -1
"""max_time_ms of a partition without a limit, or of one that is not known."""
# A MIG profile in the name that gres.conf gives an instance: a100_1g.5gb, 3g.20gb. A30s have 4 slices, all others 7.
_PROFILE: Final = re.compile(r"(?:^|[_-])([1-7])g\.\d+gb", re.IGNORECASE)
_A30: Final = re.compile(r"(?:^|[^a-z0-9])a30(?:[^0-9]|$)", re.IGNORECASE)

_WORDS: Final = f"""
    SELECT n.node_key, s.at_ms, least(lead(s.at_ms) OVER near, s.at_ms + {NODE_WORD_MS}, $as_of) AS to_ms
    FROM node_state s JOIN node n ON n.name = s.name AND n.cluster = s.cluster
    WHERE s.at_ms >= $low AND s.at_ms < $as_of
    WINDOW near AS (PARTITION BY s.cluster, s.name ORDER BY s.at_ms)"""  # noqa: S608 - a constant

# What a word counts for. That cuts the one before it short, whose time is known up to where the data reached.
_TOLD: Final = f"""
    SELECT node_key, at_ms, to_ms FROM ({_WORDS}) WHERE (node_key, at_ms) IN (
        SELECT (n.node_key, b.at_ms) FROM batch_node_state b JOIN node n ON n.name = b.name AND n.cluster = b.cluster)
    """  # noqa: S608 - constants

_NEW_GPUS: Final = f"""
    SELECT DISTINCT w.node_key, greatest(w.at_ms, c.start_ms), least(w.to_ms, c.end_ms)
    FROM ({_WORDS}) AS w JOIN (
        SELECT unnest($nodes::INTEGER[]) AS node_key, unnest($starts::BIGINT[]) AS start_ms,
            unnest($ends::BIGINT[]) AS end_ms) AS c
    ON c.node_key = w.node_key AND c.start_ms < w.to_ms AND c.end_ms > w.at_ms"""  # noqa: S608 - constants


def of_new_gpus(cursor: Cursor, gpus: Gpus, as_of_ms: int) -> list[tuple[int, int, int]]:
    """Returns the (node_key, start_ms, end_ms) in which a word about a node meets other GPUs than before the batch.

    That is from a GPU's first sight on where it is new or has moved, and up to what was its first sight where data from
    before that came in.
    """
    spans: list[tuple[int, int, int]] = []
    for key, (node, first_ms) in gpus.now.items():
        old_node, old_first_ms = gpus.before.get(key, (None, as_of_ms))
        if old_node == node and first_ms < old_first_ms:
            spans.append((node, first_ms, old_first_ms))
        elif old_node != node:
            spans += [(each, first_ms, as_of_ms) for each in (node, old_node) if each is not None]
    if not spans:
        return []
    nodes, starts, ends = zip(*spans, strict=True)
    changed = {"nodes": list(nodes), "starts": list(starts), "ends": list(ends)}
    return cursor.tuples(_NEW_GPUS, {"low": min(starts) - NODE_WORD_MS, "as_of": as_of_ms, **changed})


def keep(cursor: Cursor, segments: Sequence[Segment], as_of_ms: int) -> list[tuple[int, int, int]]:
    """Stores the readings of segments; returns the (node_key, start_ms, end_ms) whose rollups they change."""
    readings = [(segment.cluster, reading) for segment in segments for reading in segment.inventory]
    if not readings:
        return []
    for table, rows in _sights(readings).items():
        _widen(cursor, table, rows)
    requests = [(cluster, each.at_ms, "cluster", each.calls) for cluster, each in readings]
    with cursor.table("batch_request", from_tuples(requests, _REQUEST)):
        cursor.execute(_KEEP_REQUESTS)
    _keep_usage(cursor, readings)
    return _keep_nodes(cursor, readings, as_of_ms)


def _keep_usage(cursor: Cursor, readings: Iterable[tuple[str, InventoryReading]]) -> None:
    """The newest reading counts; of two of one moment the one that counts more, so that the order does not matter."""
    newest: dict[tuple[str, str, int], tuple[int, int]] = {}
    for _, each in readings:
        for one in each.usage:
            key = one.cluster, one.account, one.day_ms
            newest[key] = max(newest.get(key, (0, 0)), (each.at_ms, one.gpu_s))
    if not newest:
        return
    rows = [(*key, gpu_s, at_ms) for key, (at_ms, gpu_s) in newest.items()]
    with cursor.table("batch_usage", from_tuples(rows, _USAGE)):
        cursor.execute("""
            INSERT INTO slurm_usage BY NAME SELECT * FROM batch_usage ON CONFLICT DO UPDATE
            SET gpu_s = excluded.gpu_s, at_ms = excluded.at_ms
            WHERE (excluded.at_ms, excluded.gpu_s) > (slurm_usage.at_ms, slurm_usage.gpu_s)""")


def _keep_nodes(
    cursor: Cursor, readings: Iterable[tuple[str, InventoryReading]], as_of_ms: int
) -> list[tuple[int, int, int]]:
    words = [(cluster, node) for cluster, each in readings for node in each.nodes]
    if not words:
        return []
    rows = [_node_row(cluster, node) for cluster, node in words]
    with cursor.table("batch_node_state", from_tuples(rows, _NODE)):
        cursor.execute(_KEEP_WORDS)
        return cursor.tuples(_TOLD, {"low": min(node.at_ms for _, node in words), "as_of": as_of_ms})


def _node_row(cluster: str, node: NodeSeen) -> tuple[object, ...]:
    types = {group.type for group in node.gpus}
    return (
        *(cluster, node.name, node.at_ms, node.state, ",".join(node.flags), standing(node.state, node.flags)),
        sum(group.count for group in node.gpus),
        sum(group.count * _units(group) for group in node.gpus),
        (types.pop() or None) if len(types) == 1 else None,
        *(node.gpus_used, node.cpus, node.cpus_used, node.mem_mib, node.mem_used_mib),
        *(",".join(node.partitions), node.reason, node.reason_ms, node.boot_ms, node.version),
    )


def _units(group: GpuGroup) -> int:
    profile = _PROFILE.search(group.type)
    if profile is None:
        return WHOLE
    of = 4 if _A30.search(group.type) else 7
    return WHOLE * min(int(profile[1]), of) // of


def _sights(readings: Iterable[tuple[str, InventoryReading]]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _SIGHTS}
    for cluster, each in readings:
        seen = (each.at_ms, each.at_ms)
        for part in each.partitions:
            limit_ms = UNLIMITED if part.max_time_s is None else part.max_time_s * 1000
            found["slurm_partition"].append(
                (cluster, part.name, ",".join(part.nodes), limit_ms, part.is_default, part.state or "", *seen)
            )
        for held in each.reservations:
            nodes, flags = ",".join(held.nodes), ",".join(held.flags)
            found["reservation"].append((cluster, held.name, held.start_ms, held.end_ms, nodes, flags, *seen))
        for account in each.accounts:
            found["account"].append((account.cluster, account.name, account.parent or "", *seen))
    return found


def _widen(cursor: Cursor, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Stores what was seen: a row that is known already is seen from earlier or until later."""
    seen: dict[tuple[Any, ...], tuple[int, int]] = {}
    for *key, first_ms, last_ms in rows:
        known = seen.get(tuple(key), (first_ms, last_ms))
        seen[tuple(key)] = min(known[0], first_ms), max(known[1], last_ms)
    if not seen:
        return
    with cursor.table("batch_sight", from_tuples([(*key, *times) for key, times in seen.items()], _SIGHTS[table])):
        cursor.execute(
            f"INSERT INTO {table} BY NAME SELECT * FROM batch_sight ON CONFLICT DO UPDATE SET "  # noqa: S608
            "first_ms = least(first_ms, excluded.first_ms), last_ms = greatest(last_ms, excluded.last_ms)"
        )
