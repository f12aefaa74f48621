"""Whole devices, a MIG instance being a part of its parent, and for how long they count as capacity."""

from typing import Final

from store.schema import NODE_WORD_MS, WHOLE

FOREVER_MS: Final = 1 << 62
"""A moment after all others."""

# An exchanged GPU is listed by no segment any more while its node has no more GPUs than Slurm says; a node that Slurm
# has no more was taken away. One that Slurm lists and that does not answer is broken, and there.
ROOTS: Final = f"""
    SELECT r.gpu_key, r.node_key, r.weight, r.first_ms,
        CASE WHEN sum(r.weight) OVER (PARTITION BY r.node_key ORDER BY r.last_ms DESC, r.gpu_key) > l.units
            THEN r.last_ms ELSE {FOREVER_MS} END AS until_ms
    FROM (
        SELECT g.gpu_key, g.node_key, g.first_ms, g.last_ms,
            CAST(g.slices * {WHOLE} // g.slices_of AS BIGINT) AS weight
        FROM gpu g LEFT JOIN gpu p ON p.uuid = g.parent_uuid WHERE p.gpu_key IS NULL) AS r
    LEFT JOIN (
        SELECT n.node_key, coalesce(arg_max(s.gpu_units, s.at_ms), 0) AS units
        FROM node n LEFT JOIN node_state s ON s.name = n.name AND s.cluster = n.cluster
            AND s.at_ms > (SELECT max(at_ms) FROM node_state) - {NODE_WORD_MS}
        WHERE n.slurm AND n.cluster IN (
            SELECT cluster FROM node_state WHERE at_ms > (SELECT max(at_ms) FROM node_state) - {NODE_WORD_MS})
        GROUP BY n.node_key) AS l ON l.node_key = r.node_key"""  # noqa: S608 - constants
"""SELECT of gpu_key, node_key, weight, first_ms and until_ms."""

UNTOLD_ROOTS: Final = f"SELECT gpu_key, {FOREVER_MS} AS until_ms FROM gpu"  # noqa: S608 - a constant
"""The same where Slurm tells nothing: whatever was seen is there."""
