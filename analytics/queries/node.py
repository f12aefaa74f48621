"""One node: each GPU's last 24 hours with who held it, what the node is made of, and what happened there."""

from collections import defaultdict
from typing import Final

import msgspec

from analytics.model import HOUR_MS, MINUTE_MS, State, Viewer
from analytics.queries import events
from analytics.queries.events import EventRow
from analytics.queries.nodes import DAY_HOURS, GpuNow, NodeRow, described, known
from analytics.queries.scope import fill, visible
from analytics.queries.site import told_at
from analytics.queries.stretches import Stretch, merge
from store.database import Cursor
from store.minutes import minutes

__all__ = ["DriverChange", "EventRow", "GpuDay", "GpuNow", "Holder", "NodeDetail", "NodeRow", "Stretch", "node"]


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A run that held a GPU."""

    run_key: int
    job_id: str
    user: str | None
    start_ms: int
    end_ms: int | None


class GpuDay(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU's last 24 hours: its states, and who held it beneath.

    ``position`` is its place in Slurm's own list, None where nobody has told; a MIG instance is ``slices`` of
    ``slices_of`` of ``parent_uuid``.
    """

    gpu: GpuNow
    pci_bus_id: str | None
    minor: int | None
    position: int | None
    slices: int
    slices_of: int
    parent_uuid: str | None
    stretches: list[Stretch]
    holders: list[Holder]


class DriverChange(msgspec.Struct, frozen=True, kw_only=True):
    """A driver and since when the node has it."""

    version: str
    from_ms: int


class NodeDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A node with each GPU's day, [start_ms, end_ms), its drivers, newest first, and its newest events."""

    node: NodeRow
    start_ms: int
    end_ms: int
    drivers: list[DriverChange]
    gpus: list[GpuDay]
    events: list[EventRow]


# The minute's largest part says its state; half a minute of idle is enough, so that no idle minute is lost. Minutes of
# equal state that follow each other become one stretch.
_DAY: Final = """
    WITH minute AS (
        SELECT gpu_key, minute_ms, sum(held_ms) AS held, sum(active_ms) AS active, sum(low_ms) AS low,
            sum(idle_held_ms) AS idle_held, sum(idle_ms) AS idle, sum(unknown_ms) AS unknown, sum(stray_ms) AS stray,
            sum(covered_ms) AS covered, sum(suspended_ms) AS suspended
        FROM minutes WHERE node_key = $node_key AND minute_ms >= $start AND minute_ms < $end GROUP BY ALL),
    told AS (
        SELECT gpu_key, minute_ms,
            CASE WHEN held >= 30000 AND idle_held + idle >= 30000 THEN if(idle_held >= idle, 'idle_held', 'idle')
                WHEN held >= 30000 THEN CASE greatest(active, low, unknown) WHEN active THEN 'active'
                    WHEN low THEN 'low' ELSE 'unknown' END
                WHEN suspended >= 30000 THEN 'suspended'
                WHEN stray >= 30000 THEN 'stray' WHEN covered > 0 THEN 'unallocated' ELSE 'unknown' END AS state
        FROM minute),
    numbered AS (
        SELECT gpu_key, state, minute_ms,
            minute_ms // 60000 - row_number() OVER (PARTITION BY gpu_key, state ORDER BY minute_ms) AS number
        FROM told)
    SELECT gpu_key, state, min(minute_ms) AS start_ms, max(minute_ms) + 60000 AS end_ms
    FROM numbered GROUP BY gpu_key, state, number ORDER BY gpu_key, start_ms"""

_HOLDERS: Final = """
    SELECT a.gpu_key, r.run_key, r.job_id, r.user_name AS "user", a.start_ms,
        CASE WHEN r.end_ms IS NOT NULL OR r.kind <> 'session' THEN a.end_ms END AS end_ms
    FROM allocation a JOIN run r ON r.run_key = a.run_key
    WHERE a.node_key = $node_key AND a.start_ms < $end AND (a.end_ms IS NULL OR a.end_ms > $start) AND {seen}
    ORDER BY a.start_ms, a.run_key"""


_PLACE: Final = ("pci_bus_id", "minor", "position", "slices", "slices_of", "parent_uuid")
_PLACES: Final = f"SELECT gpu_key, {', '.join(_PLACE)} FROM gpu WHERE node_key = $1"  # noqa: S608 - names of columns

_DRIVERS: Final = """
    SELECT driver_version AS version, from_ms FROM (
        SELECT *, lag(driver_version) OVER (ORDER BY from_ms) AS old FROM node_driver WHERE node_key = $1)
    WHERE old IS DISTINCT FROM driver_version ORDER BY from_ms DESC"""


def node(cur: Cursor, viewer: Viewer, name: str, now_ms: int) -> NodeDetail | None:
    """Returns one node as seen at ``now_ms`` of the hub's clock, or None where there is none of that name."""
    found = known(cur, name)
    if not found:
        return None
    node_key = found[0].node_key
    now_ms = told_at(cur, now_ms)
    (row,) = described(cur, viewer, now_ms, found)
    end = max(row.last_ms, now_ms // MINUTE_MS * MINUTE_MS)
    span = {"node_key": node_key, "start": end - DAY_HOURS * HOUR_MS, "end": end}
    seen = visible(viewer)
    holders: dict[int, list[Holder]] = defaultdict(list)
    for gpu_key, *values in cur.tuples(fill(_HOLDERS, seen=seen.sql), seen.params | span):
        holders[gpu_key].append(Holder(**dict(zip(Holder.__struct_fields__, values, strict=True))))
    days = _days(cur, span)
    places = {gpu_key: place for gpu_key, *place in cur.tuples(_PLACES, [node_key])}
    return NodeDetail(
        node=row,
        start_ms=span["start"],
        end_ms=span["end"],
        drivers=cur.rows(_DRIVERS, [node_key], DriverChange),
        gpus=[
            GpuDay(
                gpu=gpu,
                **dict(zip(_PLACE, places[gpu.gpu_key], strict=True)),
                stretches=days.get(gpu.gpu_key, []),
                holders=holders[gpu.gpu_key],
            )
            for gpu in row.gpu_now
        ],
        events=events.of_node(cur, name),
    )


def _days(cur: Cursor, span: dict[str, int]) -> dict[int, list[Stretch]]:
    """The minutes of each GPU as stretches; where there is no row nothing is known."""
    by_gpu: dict[int, list[Stretch]] = defaultdict(list)
    with minutes(cur, span["start"], span["end"]):
        told = cur.tuples(_DAY, span)
    for gpu_key, state, start_ms, end_ms in told:
        lane = by_gpu[gpu_key]
        at = lane[-1].end_ms if lane else span["start"]
        if start_ms > at:
            lane.append(Stretch(state=State.UNKNOWN, start_ms=at, end_ms=start_ms))
        lane.append(Stretch(state=state, start_ms=start_ms, end_ms=end_ms))
    for lane in by_gpu.values():
        if lane[-1].end_ms < span["end"]:
            lane.append(Stretch(state=State.UNKNOWN, start_ms=lane[-1].end_ms, end_ms=span["end"]))
    return {gpu_key: merge(lane) for gpu_key, lane in by_gpu.items()}
