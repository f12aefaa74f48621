"""GPU-hours of accounts by day as Slurm counts them and as counted here, and in a sentence why the two differ."""

from typing import Final

import msgspec

from analytics.model import HOUR_MS
from analytics.wording import format_gpu_h, format_time, plural
from store.database import Cursor

DAY_MS: Final = 24 * HOUR_MS
DAYS: Final = 7
NEAR_GPU_H: Final = 0.1
NEAR_RATIO: Final = 0.01
"""Two counts that differ by less than either of these agree: sreport counts in seconds and by whole hours."""


class AccountDay(msgspec.Struct, frozen=True, kw_only=True):
    """One account on one day of UTC. ``sreport_gpu_h`` is None where Slurm has not rolled the day up, or nobody asked.

    ``slurm_gpu_h`` is the count of the runs' GPUs times their elapsed time, from accounting. Slurm counts a MIG
    instance as one GPU, and so are ours here. ``why`` is empty where the counts agree.
    """

    cluster: str
    account: str | None
    day_ms: int
    slurm_gpu_h: float
    sreport_gpu_h: float | None
    our_gpu_h: float
    agrees: bool
    why: str


class _Count(msgspec.Struct, frozen=True):
    cluster: str
    account: str | None
    day_ms: int
    slurm_ms: int
    our_ms: int
    suspended_ms: int
    untold_ms: int  # ours, of runs that accounting has not told of
    running: int
    sreport_s: int | None


# What suspensions took from a run is spread over its days: accounting says how much, not when.
_COUNTS: Final = """
    WITH day AS (SELECT unnest(range($first, $end, $day)) AS day_ms),
    slurm AS (
        SELECT r.cluster, r.account, d.day_ms, CAST(sum(r.alloc_gpus
                * (least(coalesce(r.end_ms, $as_of), d.day_ms + $day) - greatest(r.start_ms, d.day_ms))
                * CASE WHEN r.end_ms > r.start_ms AND r.elapsed_ms IS NOT NULL
                    THEN least(1, r.elapsed_ms / (r.end_ms - r.start_ms)) ELSE 1 END) AS BIGINT) AS slurm_ms,
            count(*) FILTER (r.end_ms IS NULL) AS running
        FROM run r JOIN day d ON r.start_ms < d.day_ms + $day AND coalesce(r.end_ms, $as_of) > d.day_ms
        -- Told apart from the join, so that runs of other weeks are passed over by their statistics.
        WHERE r.db_index IS NOT NULL AND r.alloc_gpus > 0 AND r.start_ms < $end
            AND (r.end_ms IS NULL OR r.end_ms > $first) GROUP BY ALL),
    ours AS (
        SELECT r.cluster, r.account, h.day_ms, CAST(sum(h.held_ms) AS BIGINT) AS our_ms,
            CAST(coalesce(sum(h.suspended_ms), 0) AS BIGINT) AS suspended_ms,
            CAST(coalesce(sum(h.held_ms) FILTER (r.db_index IS NULL), 0) AS BIGINT) AS untold_ms
        FROM (
            SELECT run_key, hour_ms // $day * $day AS day_ms, sum(held_ms) AS held_ms, sum(suspended_ms) AS suspended_ms
            FROM gpu_hour WHERE hour_ms >= $first AND hour_ms < $end AND run_key IS NOT NULL GROUP BY ALL) AS h
            JOIN run r ON r.run_key = h.run_key
        WHERE r.kind = 'job' GROUP BY ALL),
    told AS (
        SELECT cluster, account, day_ms, gpu_s AS sreport_s FROM slurm_usage WHERE day_ms >= $first AND day_ms < $end)
    SELECT cluster, account, day_ms, coalesce(slurm_ms, 0) AS slurm_ms, coalesce(our_ms, 0) AS our_ms,
        coalesce(suspended_ms, 0) AS suspended_ms, coalesce(untold_ms, 0) AS untold_ms,
        CAST(coalesce(running, 0) AS INTEGER) AS running, sreport_s
    FROM slurm FULL JOIN ours USING (cluster, account, day_ms) FULL JOIN told USING (cluster, account, day_ms)
    ORDER BY day_ms DESC, greatest(coalesce(slurm_ms, 0), coalesce(our_ms, 0)) DESC, account"""


def slurm_usage(cur: Cursor, data_from_ms: int, data_to_ms: int) -> list[AccountDay]:
    """Returns the accounts of the last days that the data has, the newest day first and in it the largest account."""
    first_ms = max(data_from_ms // DAY_MS, data_to_ms // DAY_MS - DAYS + 1) * DAY_MS
    end_ms = data_to_ms // DAY_MS * DAY_MS + DAY_MS
    params = {"first": first_ms, "end": end_ms, "day": DAY_MS, "as_of": data_to_ms}
    return [_row(count, data_from_ms, data_to_ms) for count in cur.rows(_COUNTS, params, _Count)]


def _row(count: _Count, data_from_ms: int, data_to_ms: int) -> AccountDay:
    slurm_ms = count.slurm_ms if count.sreport_s is None else count.sreport_s * 1000
    agrees = _near(count.our_ms, slurm_ms)
    return AccountDay(
        cluster=count.cluster,
        account=count.account,
        day_ms=count.day_ms,
        slurm_gpu_h=count.slurm_ms / HOUR_MS,
        sreport_gpu_h=None if count.sreport_s is None else count.sreport_s / 3600,
        our_gpu_h=count.our_ms / HOUR_MS,
        agrees=agrees,
        why="" if agrees else _why(count, slurm_ms, data_from_ms, data_to_ms),
    )


def _near(one_ms: int, other_ms: int) -> bool:
    return abs(one_ms - other_ms) <= max(NEAR_GPU_H * HOUR_MS, NEAR_RATIO * max(one_ms, other_ms))


def _why(count: _Count, slurm_ms: int, data_from_ms: int, data_to_ms: int) -> str:
    """Returns the first of the reasons that close the gap, or may."""
    if data_from_ms > count.day_ms:
        return f"Recorded here from {format_time(data_from_ms)} UTC on, so the day's edge is missing."
    if _near(count.our_ms - count.untold_ms, slurm_ms):
        return f"{format_gpu_h(count.untold_ms / HOUR_MS)} are of jobs that accounting has not told of yet."
    if _near(count.our_ms + count.suspended_ms, slurm_ms):
        return f"{format_gpu_h(count.suspended_ms / HOUR_MS)} were suspended: Slurm counts them, here nobody held them."
    if count.sreport_s is not None and _near(count.our_ms, count.slurm_ms):
        return "The runs in accounting agree with ours: Slurm has not rolled all of the day up yet."
    if count.running:
        return f"{plural(count.running, 'job')} still ran at {format_time(data_to_ms)} UTC, at the window's edge."
    return "Not explained: look at the probe accounting, and for jobs whose GPUs no node has shown."
