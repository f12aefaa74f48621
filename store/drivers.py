"""Which driver each node had from when on: a row a change, so that a step in a chart can be told from a new driver."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence

from store.database import Cursor
from store.segment import Segment


def keep(cursor: Cursor, segments: Sequence[Segment], nodes: Mapping[str, int]) -> None:
    """Stores what the segments say of their nodes' drivers, in any order; ``nodes`` is node_key by name."""
    told = sorted((segment.first_ms, nodes[segment.node], _driver(segment)) for segment in segments)
    known: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for node_key, from_ms, version in cursor.tuples(
        "SELECT node_key, from_ms, driver_version FROM node_driver WHERE node_key IN (SELECT unnest($1::INTEGER[])) "
        "ORDER BY from_ms",
        [list(nodes.values())],
    ):
        known[node_key].append((from_ms, version))
    for at_ms, node_key, version in told:
        row = known[node_key]
        before = bisect_right(row, at_ms, key=lambda change: change[0])
        if not version or (before and row[before - 1][1] == version):
            continue
        row.insert(before, (at_ms, version))
        cursor.execute("INSERT INTO node_driver VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", [node_key, version, at_ms])


def _driver(segment: Segment) -> str:
    return next((device.driver_version for device in segment.devices if device.driver_version), "")
