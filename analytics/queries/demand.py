"""What pending jobs ask for over time, beside the GPUs that are held and idle meanwhile.

A poll of the queue stands until the next one and no longer than it says itself; what no poll covers is unknown, never
zero. Polls tell GPUs by partition, and no user, model or node.
"""

from typing import Final, Literal

import msgspec

from analytics.model import HOUR_MS, Filter, Viewer, Window
from analytics.queries.scope import Condition, fill
from analytics.queries.site import data_to
from analytics.queries.timeline import Timeline, TimelineRow
from store.database import Cursor

LEAST_RATIO: Final = 0.5
"""Share of a bucket that polls have to cover before it has a number."""

Known = Literal["yes", "never_read", "not_in_window", "not_of_this"]
"""Whether there are numbers, and else why not: nobody reads the queue of the cluster, nobody did in the window, or a
filter or viewer asks for a part that polls do not tell."""


class DemandRow(msgspec.Struct, frozen=True, kw_only=True):
    """One bucket, half open from ``start_ms``; means over its time, in GPUs and jobs.

    ``waiting`` are held up by hardware alone, as far as Slurm says; ``not_ready`` by a hold, a begin time, a
    dependency, a limit or nodes that are down: free GPUs would not start them. None: too little was polled.
    ``idle_gpus`` were held and idle; None: nothing of the bucket was measured.
    """

    start_ms: int
    end_ms: int
    waiting_gpus: float | None
    waiting_jobs: float | None
    not_ready_gpus: float | None
    polled_ratio: float
    idle_gpus: float | None


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """The buckets of a timeline, in order."""

    known: Known
    bucket_ms: int
    rows: list[DemandRow]


class _Polled(msgspec.Struct, frozen=True):
    bucket: int
    polled_ms: int
    clusters: int
    waiting_gpus: float
    waiting_jobs: float
    not_ready_gpus: float


_READ: Final = "SELECT count(*) > 0, count(DISTINCT q.cluster) FILTER ({within}) FROM queue_poll q WHERE {clusters}"

_WITHIN: Final = "q.at_ms < $end AND q.until_ms > $start"

# The newest poll of any host counts. Each of several clusters has to be covered by itself, so that one that nobody
# reads for a while does not look like one where nobody waits.
_OVER_TIME: Final = """
    WITH poll AS (
        SELECT q.node_key, q.cluster, q.at_ms, least(q.until_ms, coalesce(lead(q.at_ms) OVER (
            PARTITION BY q.cluster ORDER BY q.at_ms, q.node_key), q.until_ms)) AS to_ms
        FROM queue_poll q WHERE {within} AND {clusters}),
    asked AS (
        SELECT p.node_key, p.at_ms, sum(p.gpus) FILTER (p.waits_for = 'hardware') AS waiting_gpus,
            sum(p.jobs) FILTER (p.waits_for = 'hardware') AS waiting_jobs,
            sum(p.gpus) FILTER (p.waits_for <> 'hardware') AS not_ready_gpus
        FROM queue_pending p SEMI JOIN poll q ON q.node_key = p.node_key AND q.at_ms = p.at_ms
        WHERE {partitions} GROUP BY ALL),
    bucket AS (
        SELECT unnest(range(len($starts))) AS bucket, unnest($starts) AS start_ms, unnest($ends) AS end_ms),
    piece AS (
        SELECT b.bucket, q.cluster, least(q.to_ms, b.end_ms) - greatest(q.at_ms, b.start_ms) AS ms,
            coalesce(a.waiting_gpus, 0) AS waiting_gpus, coalesce(a.waiting_jobs, 0) AS waiting_jobs,
            coalesce(a.not_ready_gpus, 0) AS not_ready_gpus
        FROM poll q JOIN bucket b ON q.at_ms < b.end_ms AND q.to_ms > b.start_ms
        LEFT JOIN asked a ON a.node_key = q.node_key AND a.at_ms = q.at_ms),
    one AS (
        SELECT bucket, cluster, sum(ms) AS ms, sum(ms * waiting_gpus) / sum(ms) AS waiting_gpus,
            sum(ms * waiting_jobs) / sum(ms) AS waiting_jobs, sum(ms * not_ready_gpus) / sum(ms) AS not_ready_gpus
        FROM piece GROUP BY ALL)
    SELECT CAST(bucket AS INTEGER) AS bucket, CAST(min(ms) AS BIGINT) AS polled_ms, count(*) AS clusters,
        CAST(sum(waiting_gpus) AS DOUBLE) AS waiting_gpus, CAST(sum(waiting_jobs) AS DOUBLE) AS waiting_jobs,
        CAST(sum(not_ready_gpus) AS DOUBLE) AS not_ready_gpus
    FROM one GROUP BY bucket"""


def demand(cur: Cursor, viewer: Viewer, window: Window, where: Filter, beside: Timeline) -> Demand:
    """Returns demand in the buckets of ``beside``, the hours of the same viewer, window and filter over time."""
    known, clusters = _known(cur, viewer, window, where)
    found: dict[int, _Polled] = {}
    if known == "yes":
        statement, params = _statement(where)
        params |= {"start": window.start_ms, "end": window.end_ms}
        params |= {"starts": [row.start_ms for row in beside.rows], "ends": [row.end_ms for row in beside.rows]}
        found = {row.bucket: row for row in cur.rows(statement, params, _Polled)}
    to_ms = data_to(cur) or window.end_ms
    rows = [_row(bucket, found.get(index), clusters, to_ms) for index, bucket in enumerate(beside.rows)]
    return Demand(known=known, bucket_ms=beside.bucket_ms, rows=rows)


def _known(cur: Cursor, viewer: Viewer, window: Window, where: Filter) -> tuple[Known, int]:
    """Returns whether there are numbers, and of how many clusters."""
    if viewer.kind != "admin" or where != Filter(cluster=where.cluster, partition=where.partition):
        return "not_of_this", 0
    clusters = _clusters(where)
    params = {"start": window.start_ms, "end": window.end_ms} | clusters.params
    [(ever, within)] = cur.tuples(fill(_READ, within=_WITHIN, clusters=clusters.sql), params)
    return "yes" if within else "not_in_window" if ever else "never_read", within


def _statement(where: Filter) -> tuple[str, dict[str, object]]:
    clusters = _clusters(where)
    partitions = Condition("TRUE", {})
    if where.partition is not None:
        # A job may name several partitions, "a,b", and waits in each.
        sql = """list_contains(string_split(p."partition", ','), $partition)"""
        partitions = Condition(sql, {"partition": where.partition})
    statement = fill(_OVER_TIME, within=_WITHIN, clusters=clusters.sql, partitions=partitions.sql)
    return statement, clusters.params | partitions.params


def _clusters(where: Filter) -> Condition:
    if where.cluster is None:
        return Condition("TRUE", {})
    return Condition("q.cluster = $cluster", {"cluster": where.cluster})


def _row(bucket: TimelineRow, polled: _Polled | None, clusters: int, to_ms: int) -> DemandRow:
    length_ms = max(0, min(bucket.end_ms, to_ms) - bucket.start_ms)
    whole = polled is not None and polled.clusters == clusters
    ratio = min(1.0, polled.polled_ms / length_ms) if whole and polled is not None and length_ms else 0.0
    told = polled if ratio >= LEAST_RATIO else None
    idle_gpu_h = bucket.idle_held_gpu_h + bucket.idle_empty_gpu_h
    unknown = bucket.unknown_gpu_h > 0 and not (idle_gpu_h or bucket.active_gpu_h or bucket.low_gpu_h)
    return DemandRow(
        start_ms=bucket.start_ms,
        end_ms=bucket.end_ms,
        waiting_gpus=None if told is None else told.waiting_gpus,
        waiting_jobs=None if told is None else told.waiting_jobs,
        not_ready_gpus=None if told is None else told.not_ready_gpus,
        polled_ratio=ratio,
        idle_gpus=None if unknown or not length_ms else idle_gpu_h * HOUR_MS / length_ms,
    )
