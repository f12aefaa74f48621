"""Why a run has no readings of a metric, as its nodes said."""

from typing import Final

from analytics.model import Viewer
from analytics.queries.scope import Condition, fill, visible
from store.catalog import NULL_REASONS
from store.database import Cursor

# Reasons of one GPU are kept over all its time; the one that reaches furthest into the run is the run's.
_REASONS: Final = """
    SELECT u.metric, u.reason FROM null_reason u JOIN allocation a ON a.gpu_key = u.gpu_key
        JOIN run r ON r.run_key = a.run_key
    WHERE a.run_key = $run AND u.to_ms > a.start_ms AND u.from_ms < coalesce(a.end_ms, u.to_ms + 1) AND {where}
    GROUP BY u.metric, u.reason ORDER BY u.metric, count(*), u.reason DESC"""


def reasons(cur: Cursor, viewer: Viewer, run_key: int) -> dict[str, str]:
    """Returns by metric, in words, what most GPUs of the run said why they have no value; none where all had one."""
    where = visible(viewer) & Condition("TRUE", {"run": run_key})
    rows = cur.tuples(fill(_REASONS, where=where.sql), where.params)
    return {metric: NULL_REASONS.get(reason, reason) for metric, reason in rows}
