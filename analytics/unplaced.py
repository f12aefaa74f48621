"""Whether a GPU that nobody seems to hold may be held after all: by a job that nobody could place on a GPU."""

from analytics.model import HOUR_MS
from store.schema import UNPLACED


def may_be_held(gpu_key: str, node: str, start_ms: str, end_ms: str) -> str:
    """Returns a condition on SQL expressions of our own; ``node`` is the alias of a row of table ``node``.

    Where Slurm tells of the node, it counts more GPUs in use there than were placed (spare time "taken"). Where it does
    not, any job of the cluster that was not placed may be here.
    """
    within = f"{{0}}.hour_ms < {end_ms} AND {{0}}.hour_ms + {HOUR_MS} > {start_ms}"
    return f"""(
        EXISTS (FROM spare_hour s WHERE s.gpu_key = {gpu_key} AND s.kind = 'taken' AND {within.format("s")})
        OR (NOT EXISTS (FROM node_state w WHERE w.cluster = {node}.cluster AND w.name = {node}.name)
            AND EXISTS (FROM gpu_hour u JOIN run r ON r.run_key = u.run_key
                        WHERE u.gpu_key = {UNPLACED} AND r.cluster = {node}.cluster AND {within.format("u")})))"""
