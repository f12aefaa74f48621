"""What Slurm last said of its nodes, beside what we know of them: why a node takes no jobs, and who never reported."""

from typing import Final

import msgspec

from store.database import Cursor
from store.schema import NODE_WORD_MS


class SlurmNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node as slurmctld had it at ``at_ms``. ``standing``: up, offline or reserved; ``since_ms``: of the reason."""

    name: str
    cluster: str
    at_ms: int
    state: str
    standing: str
    gpus: int
    gpu_type: str | None
    gpus_used: int | None
    reason: str | None
    since_ms: int | None
    partitions: str
    version: str | None


_LAST: Final = """
    SELECT name, cluster, at_ms, lower(state) || CASE WHEN flags = '' THEN ''
            ELSE ', ' || replace(replace(lower(flags), ',', ', '), '_', ' ') END AS state,
        standing, gpus, gpu_type, gpus_used, reason, reason_ms AS since_ms, partitions, version
    FROM node_state WHERE at_ms > $since AND at_ms <= $now AND ($name IS NULL OR name = $name)
    QUALIFY row_number() OVER (PARTITION BY cluster, name ORDER BY at_ms DESC) = 1
    ORDER BY name, cluster"""


def slurm_nodes(cur: Cursor, now_ms: int, name: str | None = None) -> list[SlurmNode]:
    """Returns the nodes that Slurm spoke of within the time that its word counts, by name, or the one of that name."""
    return cur.rows(_LAST, {"since": now_ms - NODE_WORD_MS, "now": now_ms, "name": name}, SlurmNode)
