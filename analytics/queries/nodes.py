"""Nodes and their GPUs: what they do now, who holds them, and the hours of their day."""

from collections import defaultdict
from typing import Final

import msgspec

from analytics.model import (
    DELIVERY_MS,
    MINUTE_MS,
    STALE_INTERVALS,
    Filter,
    Viewer,
    Window,
    stale_after_ms,
)
from analytics.queries.figures import gpu_h, ratio
from analytics.queries.pieces import pieces
from analytics.queries.scope import fill, visible
from analytics.queries.site import told_at
from analytics.queries.slurm_nodes import SlurmNode, slurm_nodes
from store.database import Cursor
from store.samples import MAX_TIME_MS, samples
from store.states import STATE_SQL

DAY_HOURS: Final = 24


class GpuNow(msgspec.Struct, frozen=True, kw_only=True):
    """The newest reading of a GPU.

    ``state`` is unknown where the node is silent, and where the GPU's own newest row is 3 intervals older than its
    node's, because it does not answer.
    ``position`` is its place in Slurm's list of the node's GPUs, which IDX counts; ``index`` is the driver's own.
    Without a holder it is unallocated, or stray where a Slurm node shows work or memory with no allocation behind it.
    """

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
    position: int | None = None


class NodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A node. ``age_ms`` is the time since its newest row; ``silent`` where that is late (model.stale_after_ms).

    ``slurm_now`` is what Slurm last said of it, None where that is too old or nobody asks Slurm.
    """

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
    slurm_now: SlurmNode | None = None


class Known(msgspec.Struct, frozen=True):
    """A node as it described itself; enough to tell who reports."""

    node_key: int
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
    skew_ms: int | None

    def is_silent(self, now_ms: int) -> bool:
        """Returns whether the newest row is late."""
        return now_ms - self.last_ms > stale_after_ms(self.interval_ms)


_NODES: Final = """
    SELECT n.node_key, n.name, n.cluster, n.slurm, count(g.gpu_key) AS gpus, min(g.model) AS model,
        any_value(n.driver_version) AS driver_version, any_value(n.agent_version) AS agent_version, n.interval_ms,
        n.first_ms, n.last_ms, any_value(n.skew_ms) AS skew_ms
    FROM node n LEFT JOIN gpu g ON g.node_key = n.node_key
    WHERE n.node_key <> 0 AND ($name IS NULL OR n.name = $name)
    GROUP BY n.node_key, n.name, n.cluster, n.slurm, n.interval_ms, n.first_ms, n.last_ms ORDER BY n.name"""

# Who holds a GPU is told only to those who may see the run.
_NOW: Final = """
    WITH row AS (
        SELECT s.*, {state} AS state FROM samples s JOIN gpu g ON g.gpu_key = s.gpu_key
        WHERE s.ts_ms > $since AND list_contains($node_keys, s.node_key)
        QUALIFY row_number() OVER (PARTITION BY s.gpu_key ORDER BY s.ts_ms DESC) = 1),
    holder AS (
        SELECT a.gpu_key, r.run_key, r.job_id, r.user_name, {seen} AS seen
        FROM allocation a JOIN run r ON r.run_key = a.run_key
        -- The hold of a session reaches to where its processes were last seen, also while it lasts.
        WHERE (a.end_ms IS NULL OR r.kind = 'session') AND r.end_ms IS NULL
        QUALIFY row_number() OVER (PARTITION BY a.gpu_key ORDER BY a.start_ms DESC, a.run_key) = 1)
    SELECT g.node_key, g.gpu_key, g.uuid, g.idx AS index, g.model,
        CASE WHEN s.state IS NULL OR s.ts_ms < greatest(n.last_ms, $now - $delivery) - $stale * n.interval_ms
                THEN 'unknown'
            WHEN h.run_key IS NOT NULL THEN s.state
            WHEN n.slurm AND s.state IN ('active', 'low', 'idle_held') THEN 'stray' ELSE 'unallocated' END AS state,
        CASE WHEN h.seen THEN h.run_key END AS run_key, CASE WHEN h.seen THEN h.job_id END AS job_id,
        CASE WHEN h.seen THEN h.user_name END AS "user",
        s.util_pct / 10 AS util_pct, CAST(s.mem_used_mib AS DOUBLE) AS mem_used_mib, g.mem_total_mib,
        s.power_w / 10 AS power_w, g.power_limit_w, CAST(s.temp_c AS DOUBLE) AS temp_c, s.ts_ms AS row_ms,
        g.position
    FROM gpu g JOIN node n ON n.node_key = g.node_key LEFT JOIN row s ON s.gpu_key = g.gpu_key
        LEFT JOIN holder h ON h.gpu_key = g.gpu_key
    WHERE list_contains($node_keys, g.node_key) ORDER BY g.node_key, g.idx, g.gpu_key"""

_LOOK_BACK_MS: Final = 15 * MINUTE_MS  # the longest span of a row


_HOURS: Final = """
    SELECT node, CAST(sum(held) AS BIGINT) AS held, CAST(sum(idle_held + idle_empty) AS BIGINT) AS idle,
        CAST(sum(unknown) AS BIGINT) AS unknown, CAST(sum(unmeasurable) AS BIGINT) AS unmeasurable
    FROM ({piece}) GROUP BY node"""

_HOUR_COLUMNS: Final = ("node", "held", "idle_held", "idle_empty", "unknown", "unmeasurable")


class _Hours(msgspec.Struct, frozen=True):
    node: str | None
    held: int
    idle: int
    unknown: int
    unmeasurable: int


def known(cur: Cursor, name: str | None = None) -> list[Known]:
    """Returns every node by name, or the one of that name: cheap, without what its GPUs do."""
    return cur.rows(_NODES, {"name": name}, Known)


def nodes(cur: Cursor, viewer: Viewer, now_ms: int) -> list[NodeRow]:
    """Returns every node by name, as seen at ``now_ms`` of the hub's clock (site.told_at)."""
    return described(cur, viewer, told_at(cur, now_ms), known(cur))


def described(cur: Cursor, viewer: Viewer, now_ms: int, found: list[Known]) -> list[NodeRow]:
    """Returns the rows of nodes that are known, as seen at ``now_ms`` (site.told_at)."""
    if not found:
        return []
    gpus = _now(cur, viewer, [node.node_key for node in found], now_ms)
    window = Window.last(DAY_HOURS, max(node.last_ms for node in found))
    only = found[0].name if len(found) == 1 else None
    piece = pieces(viewer, window, Filter(node=only), _HOUR_COLUMNS)
    day = {row.node: row for row in cur.rows(fill(_HOURS, piece=piece.sql), piece.params, _Hours)}
    said = {(one.cluster, one.name): one for one in slurm_nodes(cur, now_ms, only)}
    return [
        _row(node, gpus[node.node_key], day.get(node.name), said.get((node.cluster, node.name)), now_ms)
        for node in found
    ]


def _now(cur: Cursor, viewer: Viewer, node_keys: list[int], now_ms: int) -> dict[int, list[GpuNow]]:
    seen = visible(viewer)
    times = {"since": now_ms - _LOOK_BACK_MS, "now": now_ms, "stale": STALE_INTERVALS, "delivery": DELIVERY_MS}
    params = seen.params | times | {"node_keys": node_keys}
    by_node: dict[int, list[GpuNow]] = defaultdict(list)
    with samples(cur, times["since"], MAX_TIME_MS):
        found = cur.tuples(fill(_NOW, state=STATE_SQL, seen=seen.sql), params)
    for node_key, *values in found:
        by_node[node_key].append(GpuNow(**dict(zip(GpuNow.__struct_fields__, values, strict=True))))
    return by_node


def _row(node: Known, gpu_now: list[GpuNow], day: _Hours | None, said: SlurmNode | None, now_ms: int) -> NodeRow:
    known = msgspec.structs.asdict(node)
    del known["node_key"]
    return NodeRow(
        **known,
        age_ms=max(0, now_ms - node.last_ms),
        silent=node.is_silent(now_ms),
        held_gpu_h_day=gpu_h(day.held) if day else 0.0,
        idle_gpu_h_day=gpu_h(day.idle) if day else 0.0,
        coverage_day=ratio(day.held - day.unknown, day.held - day.unmeasurable) if day else None,
        gpu_now=gpu_now,
        slurm_now=said,
    )
