"""A node that Slurm has up and that sends no rows: nobody who runs there can be judged."""

from typing import Final

from analytics.model import HOUR_MS, MINUTE_MS, Window
from analytics.node_findings.registry import Seen, node_rule
from analytics.wording import format_duration
from store.database import Cursor
from store.schema import NODE_WORD_MS

SILENT_MS: Final = 10 * MINUTE_MS
"""Time without rows within an hour from which that hour counts."""

# The GPU with the most rows speaks for the node. Hours before the node was first heard of are not missing.
_SILENT: Final = f"""
WITH word AS (
    SELECT cluster, name, standing, gpus, at_ms, least($as_of, $end, at_ms + {NODE_WORD_MS}, lead(at_ms) OVER (
        PARTITION BY cluster, name ORDER BY at_ms)) AS to_ms
    FROM node_state WHERE at_ms >= $start - {NODE_WORD_MS} AND at_ms < least($end, $as_of)),
up AS (
    SELECT cluster, name, hour * {HOUR_MS} AS hour_ms, max(gpus) AS gpus,
           sum(least(to_ms, (hour + 1) * {HOUR_MS}) - greatest(at_ms, hour * {HOUR_MS}))::BIGINT AS ms
    FROM (SELECT *, unnest(range(at_ms // {HOUR_MS}, (to_ms - 1) // {HOUR_MS} + 1)) AS hour FROM word)
    WHERE standing = 'up' GROUP BY ALL),
told AS (
    SELECT node_key, hour_ms, max(rows) AS rows FROM (
        SELECT node_key, gpu_key, hour_ms, sum(rows)::BIGINT AS rows FROM gpu_hour
        WHERE hour_ms >= $start AND hour_ms < $end GROUP BY ALL)
    GROUP BY ALL),
each AS (
    SELECT node.node_key, node.cluster, node.name, hour_ms, gpus,
           ms - coalesce(told.rows, 0) * node.interval_ms AS silent_ms
    FROM up JOIN node ON node.cluster = up.cluster AND node.name = up.name LEFT JOIN told USING (node_key, hour_ms)
    WHERE gpus > 0 AND hour_ms >= greatest($start, node.first_ms)
      AND EXISTS (FROM gpu WHERE gpu.node_key = node.node_key)),
silent AS (
    SELECT *, hour_ms // {HOUR_MS} - row_number() OVER (PARTITION BY node_key ORDER BY hour_ms) AS stretch
    FROM each WHERE silent_ms >= $least)
SELECT cluster, name, min(hour_ms), max(hour_ms) + {HOUR_MS}, sum(silent_ms)::BIGINT,
       sum(gpus * silent_ms)::BIGINT / {HOUR_MS}.0
FROM silent GROUP BY cluster, name, stretch ORDER BY ALL"""  # noqa: S608 - constants


@node_rule(
    title="Silent while Slurm has it up",
    order=10,
    fix="See whether the collector runs there and reaches the hub: gpuledger doctor on the node.",
)
def silent_node(cur: Cursor, window: Window, as_of_ms: int) -> list[Seen]:
    """No rows for 10 min and more of an hour in which slurmctld called the node up."""
    asked = {"start": window.start_ms, "end": window.end_ms, "as_of": as_of_ms, "least": SILENT_MS}
    return [
        Seen(
            cluster=cluster,
            node=node,
            start_ms=start_ms,
            end_ms=min(end_ms, as_of_ms, window.end_ms),
            gpu_h=gpu_h,
            sentence=f"It sent nothing for {format_duration(ms)} while Slurm had it up.",
        )
        for cluster, node, start_ms, end_ms, ms, gpu_h in cur.tuples(_SILENT, asked)
    ]
