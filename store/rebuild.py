"""What can be computed from what, and everything derived marked to be computed anew where raw rows remain."""

from typing import Final

import msgspec

from store.columns import HOUR_MS
from store.database import Database
from store.dirty import as_of_ms
from store.samples import kept_from_ms
from store.schema import UNPLACED

NEVER_DERIVED: Final = ("act", "in_force", "note", "report", "sent", "token")
"""What people did, what was sent, and what was in force: kept, backed up, and touched by nothing that computes."""
DERIVED: Final = (
    *("dirty_hour", "opened", "dirty_run", "gpu_hour", "gpu_minute", "spare_hour", "spare_minute"),
    *("sealed_minute", "thawed_minute"),
    *("gpu_class", "gpu_classed", "holder", "dirty_sum", "node_hour", "node_day", "holder_hour", "holder_day"),
    *("footprint_gpu", "footprint_run", "finding", "finding_hour", "unjudged", "recommendation"),
)
"""What follows from the rest, to equal rows while raw rows remain; older rows of it are then all that is left."""
SOURCE: Final = (
    *("meta", "node", "node_driver", "gpu", "run", "allocation", "suspension", "claim", "hot", "sealed", "sealed_gone"),
    *("run_alias", "repair_day", "segment_stretch", "arrival", "unknown_column", "quarantine", "event", "null_reason"),
    *("process", "probe_log", "host_minute", "queue_poll", "queue_pending", "node_state", "slurm_partition"),
    *("reservation", "account", "slurm_usage", "slurm_request", "job_log"),
)
"""What came in, or was noted as it happened."""


class Marked(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be computed anew. ``from_ms``: what is older stays, its raw rows are gone; None: there is no data."""

    from_ms: int | None
    hours: int
    runs: int


_FROM: Final = """
    SELECT min(from_ms) FROM (
        SELECT min(first_ms) AS from_ms FROM node
        UNION ALL SELECT min(start_ms) FROM allocation
        UNION ALL SELECT min(start_ms) FROM run)"""

# What is not there is marked as well as what is: rows of a rollup may be what was lost. An hour of which nothing is
# known gives no row.
_HOURS: Final = f"""
    INSERT INTO dirty_hour
    WITH began AS (
        SELECT node_key, first_ms AS from_ms FROM node
        UNION ALL SELECT node_key, start_ms FROM allocation
        UNION ALL SELECT {UNPLACED}, min(start_ms) FROM run),
    spanned AS (
        SELECT node_key, unnest(range(greatest(min(from_ms), $from_ms) // {HOUR_MS}, $to_ms // {HOUR_MS} + 1)) AS hour
        FROM began GROUP BY node_key),
    marked AS (
        SELECT hour * {HOUR_MS} AS hour_ms, node_key FROM spanned
        UNION SELECT hour_ms, node_key FROM gpu_hour WHERE hour_ms >= $from_ms
        UNION SELECT hour_ms, node_key FROM spare_hour WHERE hour_ms >= $from_ms)
    SELECT hour_ms, node_key, currval('generations'), hour_ms, hour_ms + {HOUR_MS} FROM marked
    ON CONFLICT DO UPDATE SET gen = excluded.gen, from_ms = excluded.from_ms, to_ms = excluded.to_ms"""  # noqa: S608

_RUNS: Final = """
    INSERT INTO dirty_run
    SELECT run_key, currval('generations'), start_ms FROM run WHERE start_ms >= $from_ms OR end_ms IS NULL
    ON CONFLICT DO UPDATE SET gen = excluded.gen, from_ms = excluded.from_ms"""


def mark_derived(database: Database) -> Marked:
    """Marks every hour and run whose raw rows remain; rollup, footprints, rules and right-sizing then do the rest.

    Rows stay until they are replaced, some at a time: readers see figures all the while.
    """
    with database.cursor() as cursor, cursor.transaction():
        first_ms = cursor.scalar(_FROM)
        if first_ms is None:
            return Marked(from_ms=None, hours=0, runs=0)
        from_ms = max(kept_from_ms(cursor), first_ms // HOUR_MS * HOUR_MS)
        cursor.execute("SELECT nextval('generations')")
        hours = cursor.execute(_HOURS, {"from_ms": from_ms, "to_ms": as_of_ms(cursor)})
        runs = cursor.execute(_RUNS, {"from_ms": from_ms})
        for table in ("footprint_gpu", "footprint_run", "finding", "finding_hour", "unjudged"):
            cursor.execute(f"DELETE FROM {table} WHERE run_key NOT IN (SELECT run_key FROM run)")  # noqa: S608 - ours
    return Marked(from_ms=from_ms, hours=hours, runs=runs)
