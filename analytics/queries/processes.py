"""The compute processes of one run: which program ran on which GPU, and when."""

from typing import Final

import msgspec

from analytics.model import Viewer
from analytics.queries.scope import Condition, fill, visible
from store.database import Cursor


class ProcessRow(msgspec.Struct, frozen=True, kw_only=True):
    """One process on one GPU, from its first to its last sight.

    ``foreign``: it belongs to another user than the run; only administrators are told whose and what it is called.
    """

    gpu: str
    pid: int
    program: str | None
    user: str | None
    uid: int | None
    foreign: bool
    first_ms: int
    last_ms: int
    mem_max_mib: int | None


class Processes(msgspec.Struct, frozen=True, kw_only=True):
    """``more``: how many, at least, ran beside those listed."""

    items: list[ProcessRow]
    more: int


# A node tells numbers of users; names are those under which their own runs are known.
_ROWS: Final = """
    WITH mine AS (
        SELECT p.*, r.uid AS run_uid, r.user_name, r.cluster FROM process p JOIN run r ON r.run_key = p.run_key
        WHERE p.run_key = $run AND p.pid <> 0 AND {where}),
    known AS (
        SELECT uid, cluster, min(user_name) AS user_name FROM run
        -- Mostly there is no other: then none of millions of runs is read.
        WHERE user_name IS NOT NULL AND uid IN (SELECT uid FROM mine WHERE uid IS DISTINCT FROM run_uid)
        GROUP BY uid, cluster)
    SELECT coalesce(n.name, '?') || ':' || coalesce(CAST(g.idx AS VARCHAR), '?') AS gpu, m.pid,
        nullif(m.name, '') AS program, if(m.uid = m.run_uid, m.user_name, k.user_name) AS "user", m.uid,
        coalesce(m.uid <> m.run_uid, FALSE) AS "foreign", m.first_ms, m.last_ms, m.mem_max_mib
    FROM mine m LEFT JOIN gpu g ON g.gpu_key = m.gpu_key
        LEFT JOIN allocation a ON a.run_key = m.run_key AND a.gpu_key = m.gpu_key
        LEFT JOIN node n ON n.node_key = coalesce(a.node_key, g.node_key)
        LEFT JOIN known k ON k.uid = m.uid AND k.cluster = m.cluster
    ORDER BY n.name, g.idx, m.gpu_key, m.first_ms, m.pid LIMIT $limit"""

_COUNT: Final = """
    SELECT coalesce(CAST(sum(p.processes) AS BIGINT), 0) FROM process p JOIN run r ON r.run_key = p.run_key
    WHERE p.run_key = $run AND {where}"""


def of_run(cur: Cursor, viewer: Viewer, run_key: int, limit: int = 200) -> Processes:
    """Returns the processes of a run by GPU and time; none where the viewer may not see the run."""
    where = visible(viewer) & Condition("TRUE", {"run": run_key})
    rows = cur.rows(fill(_ROWS, where=where.sql), where.params | {"limit": limit}, ProcessRow)
    more = cur.scalar(fill(_COUNT, where=where.sql), where.params) - len(rows)
    return Processes(items=[row if viewer.kind == "admin" else _told(row) for row in rows], more=more)


def _told(row: ProcessRow) -> ProcessRow:
    return msgspec.structs.replace(row, program=None, user=None, uid=None) if row.foreign else row
