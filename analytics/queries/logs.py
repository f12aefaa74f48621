"""The last runs of the nodes' probes and of the hub's jobs, in the same columns."""

from collections.abc import Sequence
from typing import Final

import msgspec

from analytics.wording import plural
from store.database import Cursor


class LogRow(msgspec.Struct, frozen=True, kw_only=True):
    """The last run of a node's probe or of a job of the scheduler: same columns for both."""

    where: str
    what: str
    at_ms: int
    duration_ms: float
    ok: bool
    rows: int
    runs: int
    error: str


_JOBS: Final = """
    SELECT 'hub' AS "where", job AS what, max(at_ms) AS at_ms, arg_max(duration_ms, at_ms) AS duration_ms,
        arg_max(ok, at_ms) AS ok, arg_max(rows, at_ms) AS rows, count(*) AS runs, arg_max(error, at_ms) AS error
    FROM job_log GROUP BY job ORDER BY min(rowid)"""

_PROBES: Final = """
    SELECT n.name AS "where", p.probe AS what, p.at_ms, p.duration_ms, p.ok, p.rows, p.runs, p.error
    FROM probe_log p JOIN node n ON n.node_key = p.node_key ORDER BY p.ok, n.name, p.probe"""


def jobs(cur: Cursor) -> list[LogRow]:
    """Returns the last run of each of the hub's jobs, in the order in which they first ran."""
    return cur.rows(_JOBS, None, LogRow)


def probes(cur: Cursor) -> list[LogRow]:
    """Returns the last run of each probe of each node, failures first."""
    return cur.rows(_PROBES, None, LogRow)


def gathered(rows: Sequence[LogRow]) -> list[LogRow]:
    """Returns the rows with those that went well on several nodes as one row a probe, so that a fleet can be read.

    Such a row has the number of nodes for ``where``, the oldest of their times, the longest duration and the sums.
    """
    well: dict[str, list[LogRow]] = {}
    for row in rows:
        if row.ok:
            well.setdefault(row.what, []).append(row)
    return [row for row in rows if not row.ok] + [_together(well[what]) for what in sorted(well)]


def _together(rows: Sequence[LogRow]) -> LogRow:
    if len(rows) == 1:
        return rows[0]
    return msgspec.structs.replace(
        rows[0],
        where=plural(len(rows), "node"),
        at_ms=min(row.at_ms for row in rows),
        duration_ms=max(row.duration_ms for row in rows),
        rows=sum(row.rows for row in rows),
        runs=sum(row.runs for row in rows),
    )
