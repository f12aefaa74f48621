"""From what people type for a job to the runs they mean."""

from typing import Final

from analytics.model import Viewer
from analytics.queries.scope import Condition, fill, visible
from store.database import Cursor

_RUNS: Final = """
    SELECT r.run_key FROM run r WHERE {where} ORDER BY r.start_ms DESC, r.restart DESC, r.run_key DESC LIMIT 1000"""

_EXACT: Final = "(r.job_id = $job OR r.job_id_raw = $job)"

# Tasks of an array are 123_4, components of a heterogeneous job 123+1: what begins so, as a range up to the next
# character, by which most of the table is passed over. LIKE would read every id.
_MEMBER: Final = """((r.job_id >= $job || '_' AND r.job_id < $job || '`')
    OR (r.job_id >= $job || '+' AND r.job_id < $job || ','))"""


def resolve(cur: Cursor, viewer: Viewer, text: str) -> list[int]:
    """Returns the run keys that people mean by 123, 123_4, 123+1, cluster:123 or s-...; newest first.

    The id of an array or heterogeneous job means all its members where no single run has that id.
    """
    text = text.strip()
    cluster, colon, job = text.partition(":")
    found = _resolve(cur, viewer, text, None)
    return found or (_resolve(cur, viewer, job, cluster) if colon and job and cluster else [])


def newest(cur: Cursor, viewer: Viewer, user: str) -> int | None:
    """Returns the run key of a person's newest run, or None."""
    where = visible(viewer) & Condition("r.user_name = $name", {"name": user})
    found = cur.tuples(fill(_RUNS, where=where.sql), where.params)
    return found[0][0] if found else None


def _resolve(cur: Cursor, viewer: Viewer, job: str, cluster: str | None) -> list[int]:
    if not job:
        return []
    seen = visible(viewer)
    if cluster is not None:
        seen &= Condition("r.cluster = $on_cluster", {"on_cluster": cluster})
    for meant in (_EXACT, _MEMBER):
        where = seen & Condition(meant, {"job": job})
        found = cur.tuples(fill(_RUNS, where=where.sql), where.params)
        if found:
            return [row[0] for row in found]
    return []
