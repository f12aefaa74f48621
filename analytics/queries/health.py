"""Can these numbers be trusted? What reported, what was refused, what ran and what failed."""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec
from ClusterShell.NodeSet import NodeSet

from analytics.model import HOUR_MS, MINUTE_MS, Filter, Viewer, Window
from analytics.queries import logs
from analytics.queries.arrivals import Arrivals, arrivals
from analytics.queries.expected import expected_nodes
from analytics.queries.growth import Growth, growth
from analytics.queries.hours import total
from analytics.queries.logs import LogRow
from analytics.queries.nodes import NodeRow, nodes
from analytics.queries.pending import pending
from analytics.queries.requests import requests_per_min
from analytics.queries.site import site, told_at
from analytics.queries.slurm_usage import AccountDay, slurm_usage
from analytics.wording import format_duration, format_time, plural
from store import samples
from store.catalog import BY_NAME, NULL_REASONS
from store.database import Cursor

__all__ = ["Health", "LogRow", "SlurmHours", "Unmeasurable", "health"]

RECEIVE: Final = "receive"
"""The hub's job that looks at what it refused: the fault is not the job's."""
MAX_SKEW_MS: Final = 30_000
MAX_ACCOUNTING_LAG_MS: Final = 30 * MINUTE_MS
_DAY_MS: Final = 24 * HOUR_MS


class Unmeasurable(msgspec.Struct, frozen=True, kw_only=True):
    """A reading that GPUs of a model do not give, and why."""

    model: str | None
    metric: str
    label: str
    reason: str
    gpus: int


class SlurmHours(msgspec.Struct, frozen=True, kw_only=True):
    """GPU-hours of jobs that ended in the last 7 days as Slurm counts them (GPUs x elapsed) beside ours, same runs."""

    runs: int
    slurm_gpu_h: float
    our_gpu_h: float


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """``ok`` is true where nothing below needs anybody; ``problems`` says in sentences what does.

    ``pending`` says what is still being summed, where that is much: until then figures are not whole.
    ``store_bytes`` is the database file with its write-ahead log and the sealed files; ``disk`` says how long there is
    room for it, in ``disk_sentence`` with what that rests on, None where it cannot be said. Nodes are those with GPUs;
    expected are those of Slurm's inventory that are not offline, without one also nodes on which accounting saw GPU
    jobs in the last 7 days. ``slurm_requests_per_min`` is what our probes ask slurmctld, as a mean of the last day.
    """

    ok: bool
    problems: list[str]
    data_to_ms: int | None
    age_ms: int | None
    nodes_reporting: int
    nodes_expected: int
    nodes: list[NodeRow]
    coverage_24h: float | None
    segments_24h: int
    segments_late_24h: int
    segments_refused_24h: int
    refused: list[str]
    unknown_columns: list[str]
    max_skew_ms: int | None
    accounting_lag_ms: int | None
    slurm_requests_per_min: float | None
    pending_hours: int
    pending_runs: int
    pending: str | None
    jobs: list[LogRow]
    probes: list[LogRow]
    unmeasurable: list[Unmeasurable]
    slurm: SlurmHours | None
    accounts: list[AccountDay]
    store_bytes: int
    disk: Growth | None
    disk_sentence: str | None
    rows: int
    synthetic: bool


_UNMEASURABLE: Final = """
    SELECT g.model, u.metric, u.reason, count(DISTINCT u.gpu_key) AS gpus
    FROM null_reason u JOIN gpu g ON g.gpu_key = u.gpu_key
    WHERE u.reason = 'not_supported' OR u.to_ms > $since
    GROUP BY ALL ORDER BY g.model, u.metric, u.reason"""

# Slurm counts a MIG instance as one GPU, so ours are not weighed by slices here.
_ENDED: Final = """
    FROM run WHERE db_index IS NOT NULL AND alloc_gpus > 0 AND end_ms > $since AND start_ms >= $data_from"""

_SLURM: Final = f"""
    SELECT count(*), CAST(coalesce(sum(alloc_gpus * coalesce(elapsed_ms, end_ms - start_ms)), 0) AS BIGINT),
        coalesce(min(start_ms), $since) - {HOUR_MS} {_ENDED}"""

_OURS: Final = f"""
    SELECT CAST(coalesce(sum(held_ms), 0) AS BIGINT) FROM gpu_hour
    WHERE hour_ms >= $first AND run_key IN (SELECT run_key {_ENDED})"""  # noqa: S608 - constants


def health(cur: Cursor, viewer: Viewer, now_ms: int) -> Health:
    """Returns the state of the whole chain as seen at ``now_ms`` of the hub's clock (site.told_at)."""
    store = site(cur)
    to_ms = store.data_to_ms
    seen_ms = told_at(cur, now_ms)
    listed = nodes(cur, viewer, now_ms)
    with_gpus = [node for node in listed if node.gpus]
    reporting = {node.name for node in with_gpus if not node.silent}
    expected = reporting.union(expected_nodes(cur, (node.name for node in with_gpus), seen_ms))
    came = arrivals(cur, seen_ms)
    if store.synthetic:
        came = msgspec.structs.replace(came, late=0)  # two weeks that were sent at once are not late
    job_rows, probe_rows = logs.jobs(cur), logs.probes(cur)
    lag_ms = accounting_lag_ms(probe_rows, seen_ms)
    pending_hours = cur.scalar("SELECT count(*) FROM dirty_hour")
    waiting = pending(cur)
    disk = growth(cur)
    skews = [abs(node.skew_ms) for node in listed if node.skew_ms is not None]
    problems = [
        *_of_nodes([node for node in with_gpus if node.name in expected], expected),
        *_of_arrivals(came),
        *_of_logs(job_rows, probe_rows),
        *_of_accounting(lag_ms),
        *([disk.sentence] if disk is not None and disk.soon else []),
    ]
    return Health(
        ok=not problems and to_ms is not None,
        problems=problems,
        data_to_ms=to_ms,
        age_ms=None if to_ms is None else max(0, seen_ms - to_ms),
        nodes_reporting=len(reporting),
        nodes_expected=len(expected),
        nodes=listed,
        coverage_24h=total(cur, viewer, Window.last(24, to_ms), Filter(), count=False).coverage
        if to_ms is not None
        else None,
        segments_24h=came.segments,
        segments_late_24h=came.late,
        segments_refused_24h=came.refused,
        refused=came.reasons,
        unknown_columns=came.unknown_columns,
        max_skew_ms=max(skews, default=None),
        accounting_lag_ms=lag_ms,
        slurm_requests_per_min=requests_per_min(cur, seen_ms),
        pending_hours=pending_hours,
        pending_runs=waiting.runs,
        pending=waiting.sentence,
        jobs=job_rows,
        probes=probe_rows,
        unmeasurable=_unmeasurable(cur, seen_ms),
        accounts=[] if store.data_from_ms is None or to_ms is None else slurm_usage(cur, store.data_from_ms, to_ms),
        slurm=_slurm(cur, store.data_from_ms, seen_ms),
        store_bytes=samples.database_bytes(cur) + samples.sealed_bytes(cur),
        disk=disk,
        disk_sentence=None if disk is None else disk.sentence,
        rows=samples.count(cur),
        synthetic=store.synthetic,
    )


def _coverage(cur: Cursor, viewer: Viewer, to_ms: int) -> float | None:
    return total(cur, viewer, Window.last(24, to_ms), Filter(), count=False).coverage


def accounting_lag_ms(probes: list[LogRow], now_ms: int) -> int | None:
    """Returns the time since accounting was last read well; None where no node reads it."""
    read = [row.at_ms for row in probes if row.what == "accounting" and row.ok]
    return max(0, now_ms - max(read)) if read else None


def _unmeasurable(cur: Cursor, now_ms: int) -> list[Unmeasurable]:
    rows = cur.tuples(_UNMEASURABLE, {"since": now_ms - _DAY_MS})
    return [
        Unmeasurable(
            model=model,
            metric=metric,
            label=BY_NAME[metric].label if metric in BY_NAME else metric,
            reason=NULL_REASONS.get(reason, reason),
            gpus=gpus,
        )
        for model, metric, reason, gpus in rows
    ]


def _slurm(cur: Cursor, data_from_ms: int | None, now_ms: int) -> SlurmHours | None:
    if data_from_ms is None:
        return None
    span = {"since": now_ms - 7 * _DAY_MS, "data_from": data_from_ms}
    runs, slurm_ms, first_ms = cur.tuples(_SLURM, span)[0]
    our_ms = cur.scalar(_OURS, span | {"first": first_ms})
    return SlurmHours(runs=runs, slurm_gpu_h=slurm_ms / HOUR_MS, our_gpu_h=our_ms / HOUR_MS) if runs else None


def _of_nodes(known: list[NodeRow], expected: Collection[str]) -> list[str]:
    found = []
    silent = sorted((node for node in known if node.silent), key=lambda node: -node.age_ms)
    if silent:
        names = ", ".join(f"{node.name} for {format_duration(node.age_ms)}" for node in silent[:5])
        more = f" and {len(silent) - 5} more" if len(silent) > 5 else ""
        found.append(
            f"{plural(len(silent), 'node')} of {len(known)} sent nothing: {names}{more}; run `gpuledger doctor` there."
        )
    never = NodeSet.fromlist(sorted(set(expected) - {node.name for node in known}))
    if never:
        found.append(f"Slurm has GPUs on {never} and no agent reports from there; start `gpuledger collect` on them.")
    ahead = {node.name: node.skew_ms for node in known if (node.skew_ms or 0) > MAX_SKEW_MS}
    if ahead:
        found.append(f"Ahead of the hub's clock: {_named(ahead)}; set the time service right there.")
    # Written long before it came in: so it is too after the network or the hub was away.
    behind = {node.name: -node.skew_ms for node in known if node.skew_ms is not None and -node.skew_ms > MAX_SKEW_MS}
    if behind:
        found.append(f"Old when it comes in: {_named(behind)}; deliveries wait there, or the clock is behind.")
    return found


def _named(times_ms: Mapping[str, int | None]) -> str:
    """Returns the five longest of the times, and how many more there are."""
    longest = sorted(times_ms.items(), key=lambda item: -(item[1] or 0))
    names = ", ".join(f"{name} by {format_duration(time_ms)}" for name, time_ms in longest[:5])
    return names + (f" and {len(longest) - 5} more" if len(longest) > 5 else "")


def _of_arrivals(came: Arrivals) -> list[str]:
    if not came.refused:
        return []
    reason = f" ({came.reasons[0]})" if came.reasons else ""
    refused = plural(came.refused, "segment")
    step = "`gpuledger quarantine retry` takes them in once this hub can read them"
    return [f"{refused} of the last 24 h could not be read{reason}; they are in quarantine/, and {step}."]


def _of_logs(jobs: list[LogRow], probes: list[LogRow]) -> list[str]:
    found = [
        row.error
        if row.what == RECEIVE
        else f"The hub's job {row.what} failed at {format_time(row.at_ms)} UTC: {row.error}"
        for row in jobs
        if not row.ok
    ]
    failed = [row for row in probes if not row.ok]
    found += [f"Probe {row.what} failed on {row.where}: {row.error}" for row in failed[:5]]
    if len(failed) > 5:
        found.append(f"{len(failed) - 5} more probes failed; they are listed below.")
    return found


def _of_accounting(lag_ms: int | None) -> list[str]:
    if lag_ms is None or lag_ms <= MAX_ACCOUNTING_LAG_MS:
        return []
    return [f"Accounting was last read {format_duration(lag_ms)} ago; look at the probe on the host that runs sacct."]
