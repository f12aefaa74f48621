"""One run in full: what it asked for, what each GPU did, what was found, and what its family did before."""

from typing import Final

import msgspec
from ClusterShell.NodeSet import NodeSet, NodeSetParseError

from analytics.model import HOUR_MS, Filter, Viewer, Window
from analytics.queries import events, findings, processes, recommendations
from analytics.queries.events import EventRow
from analytics.queries.figures import gpu_h, kwh, ratio
from analytics.queries.findings import FindingRow, UnjudgedRow
from analytics.queries.job_gpus import GpuUse, gpus_of_run
from analytics.queries.pieces import UNITS_PER_GPU_H
from analytics.queries.processes import Processes, ProcessRow
from analytics.queries.recommendations import RecommendationRow
from analytics.queries.resolve import newest, resolve
from analytics.queries.rollup import floor
from analytics.queries.runs import of_these, per_run
from analytics.queries.scope import Condition, fill, visible
from analytics.queries.site import data_to
from analytics.queries.strips import StripPart, strips
from store.database import Cursor
from store.samples import MAX_TIME_MS

__all__ = ["EarlierRun", "EventRow", "GpuUse", "JobDetail", "ProcessRow", "Processes", "job", "newest", "resolve"]

DAY_MS: Final = 24 * HOUR_MS
AROUND_MS: Final = 5 * 60_000
"""Events up to this long before and after a run are shown with it."""


class EarlierRun(msgspec.Struct, frozen=True, kw_only=True):
    """Another run of the same family that began before."""

    run_key: int
    job_id: str
    state: str
    start_ms: int
    end_ms: int | None
    gpus: int
    gpus_active: int
    gpu_h: float
    idle_gpu_h: float
    util_mean_pct: float | None


class JobDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A run over its whole life, up to ``data_to_ms`` while it runs. GPU-hours are those of the hour rollup."""

    run_key: int
    job_id: str
    job_id_raw: str
    cluster: str
    kind: str
    restart: int
    name: str | None
    user: str | None
    account: str | None
    partition: str | None
    qos: str | None
    state: str
    exit_code: str | None
    interactive: bool | None
    shared: bool
    submit_ms: int | None
    start_ms: int
    end_ms: int | None
    elapsed_ms: int
    suspended_ms: int | None
    timelimit_ms: int | None
    timelimit_unlimited: bool
    nodes: list[str]
    requested_gpus: int | None
    allocated_gpus: int | None
    seen_gpus: int
    active_gpus: int | None
    model: str | None
    alloc_cpus: int | None
    cpu_efficiency: float | None
    requested_mem_mib: int | None
    max_rss_mib: int | None
    work_dir: str | None
    gpu_h: float
    active_gpu_h: float
    low_gpu_h: float
    idle_held_gpu_h: float
    idle_empty_gpu_h: float
    idle_gpu_h: float
    unknown_gpu_h: float
    slurm_gpu_h: float | None
    coverage: float | None
    util_mean_pct: float | None
    sm_mean_pct: float | None
    mem_max_ratio: float | None
    power_mean_ratio: float | None
    energy_kwh: float | None
    energy_estimated: bool
    leading_idle_ms: int | None
    trailing_idle_ms: int | None
    family: str | None
    data_to_ms: int | None
    gpus: list[GpuUse]
    findings: list[FindingRow]
    unjudged: list[UnjudgedRow]
    recommendations: list[RecommendationRow]
    events: list[EventRow]
    processes: Processes
    earlier: list[EarlierRun]
    strip: list[StripPart]


class _Run(msgspec.Struct, frozen=True, kw_only=True):
    run_key: int
    job_id: str
    job_id_raw: str
    cluster: str
    kind: str
    restart: int
    name: str | None
    user: str | None
    account: str | None
    partition: str | None
    qos: str | None
    state: str
    exit_code: str | None
    interactive: bool | None
    shared: bool
    submit_ms: int | None
    start_ms: int
    end_ms: int | None
    suspended_ms: int | None
    timelimit_ms: int | None
    timelimit_unlimited: bool
    node_list: str | None
    requested_gpus: int | None
    allocated_gpus: int | None
    alloc_cpus: int | None
    requested_mem_mib: int | None
    max_rss_mib: int | None
    work_dir: str | None
    accounted_ms: int | None
    active_gpus: int | None
    cpu_efficiency: float | None
    leading_idle_ms: int | None
    trailing_idle_ms: int | None
    family: str | None


class _Done(msgspec.Struct, frozen=True, kw_only=True):
    """What its GPUs did, as :func:`analytics.queries.runs.per_run` tells it; nothing where they have no row."""

    run_key: int = 0
    held: int = 0
    active: int = 0
    low: int = 0
    idle: int = 0
    idle_held: int = 0
    unknown: int = 0
    unmeasurable: int = 0
    util_mean_pct: float | None = None
    sm_mean_pct: float | None = None
    mem_max_ratio: float | None = None
    power_mean_ratio: float | None = None
    energy: int | None = None
    energy_estimated: bool = False


_DONE: Final = tuple(name for name in _Done.__struct_fields__ if name != "run_key")

_RUN: Final = """
    SELECT r.run_key, r.job_id, r.job_id_raw, r.cluster, r.kind, r.restart, r.name, r.user_name AS "user", r.account,
        r."partition", r.qos, r.state, r.exit_code, r.interactive, r.shared, r.submit_ms, r.start_ms, r.end_ms,
        r.suspended_ms, r.timelimit_ms, r.timelimit_unlimited, r.node_list, r.req_gpus AS requested_gpus,
        r.alloc_gpus AS allocated_gpus, r.alloc_cpus, r.req_mem_mib AS requested_mem_mib, r.max_rss_mib, r.work_dir,
        CASE WHEN r.db_index IS NOT NULL THEN coalesce(r.elapsed_ms, r.end_ms - r.start_ms) END AS accounted_ms,
        p.gpus_active AS active_gpus, p.cpu_efficiency, p.leading_idle_ms, p.trailing_idle_ms, p.family
    FROM run r LEFT JOIN footprint_run p ON p.run_key = r.run_key WHERE {where}"""

_FAMILY: Final = """
    SELECT r.run_key, r.start_ms, r.end_ms FROM footprint_run p JOIN run r ON r.run_key = p.run_key
    WHERE p.family = $family AND r.start_ms >= $after AND r.start_ms < $before AND p.start_ms >= $after AND {where}
    ORDER BY r.start_ms DESC, r.run_key DESC LIMIT $limit"""

# Mostly the last weeks have enough of them, and then nothing else is read of a table of millions.
_LOOK_BACK_MS: Final = (14 * DAY_MS, 90 * DAY_MS, MAX_TIME_MS)

_EARLIER: Final = """
    SELECT r.run_key, r.job_id, r.state, r.start_ms, r.end_ms, coalesce(r.alloc_gpus, h.seen_gpus) AS gpus,
        f.gpus_active, h.held / {units} AS gpu_h, h.idle / {units} AS idle_gpu_h, h.util_mean_pct
    FROM ({runs}) AS h JOIN run r ON r.run_key = h.run_key JOIN footprint_run f ON f.run_key = h.run_key
    ORDER BY r.start_ms DESC, r.run_key DESC"""


def job(cur: Cursor, viewer: Viewer, run_key: int) -> JobDetail | None:
    """Returns a run in full, or None where there is none that the viewer may see."""
    where = visible(viewer) & Condition("r.run_key = $run", {"run": run_key})
    run = cur.one(fill(_RUN, where=where.sql), where.params, _Run)
    if run is None:
        return None
    to_ms = data_to(cur)
    end_ms = run.end_ms if run.end_ms is not None else max(run.start_ms, to_ms or 0)
    life = Window(start_ms=floor(run.start_ms, HOUR_MS), end_ms=-floor(-end_ms, HOUR_MS))
    also = Condition("h.run_key = $run", {"run": run_key})
    runs = per_run(viewer, life, Filter(), _DONE, also)
    done = cur.one(runs.sql, runs.params, _Done) or _Done()
    gpus = gpus_of_run(cur, run_key, run.start_ms, run.end_ms, end_ms, run.allocated_gpus)
    placed = [gpu for gpu in gpus if gpu.node is not None]
    known = msgspec.structs.asdict(run)
    node_list, accounted_ms = known.pop("node_list"), known.pop("accounted_ms")
    slurm_ms = None if accounted_ms is None or run.allocated_gpus is None else accounted_ms * run.allocated_gpus
    return JobDetail(
        **known,
        gpu_h=gpu_h(done.held),
        active_gpu_h=gpu_h(done.active),
        low_gpu_h=gpu_h(done.low),
        idle_held_gpu_h=gpu_h(done.idle_held),
        idle_empty_gpu_h=gpu_h(done.idle - done.idle_held),
        idle_gpu_h=gpu_h(done.idle),
        unknown_gpu_h=gpu_h(done.unknown),
        coverage=ratio(done.held - done.unknown, done.held - done.unmeasurable),
        util_mean_pct=done.util_mean_pct,
        sm_mean_pct=done.sm_mean_pct,
        mem_max_ratio=done.mem_max_ratio,
        power_mean_ratio=done.power_mean_ratio,
        energy_kwh=kwh(done.energy),
        energy_estimated=done.energy_estimated,
        elapsed_ms=end_ms - run.start_ms,
        nodes=_nodes(node_list, placed),
        seen_gpus=len(placed),
        model=next((gpu.model for gpu in placed if gpu.model), None),
        slurm_gpu_h=None if slurm_ms is None else slurm_ms / HOUR_MS,
        data_to_ms=to_ms,
        gpus=gpus,
        findings=findings.of_run(cur, viewer, run_key),
        unjudged=findings.unjudged_of_run(cur, viewer, run_key),
        recommendations=recommendations.of_family(cur, viewer, run.family) if run.family else [],
        events=events.of_run(cur, run_key, run.start_ms - AROUND_MS, end_ms + AROUND_MS),
        processes=processes.of_run(cur, viewer, run_key),
        earlier=_earlier(cur, viewer, run, to_ms or end_ms),
        strip=strips(cur, [run_key], to_ms or end_ms).get(run_key, []),
    )


def _nodes(node_list: str | None, placed: list[GpuUse]) -> list[str]:
    """Names of the run's nodes: Slurm's list where there is one, else those that showed a GPU of it."""
    try:
        listed = list(NodeSet(node_list)) if node_list else []
    except NodeSetParseError:
        listed = []
    return listed or sorted({gpu.node for gpu in placed if gpu.node})


def _earlier(cur: Cursor, viewer: Viewer, run: _Run, to_ms: int, limit: int = 10) -> list[EarlierRun]:
    if run.family is None:
        return []
    where = visible(viewer)
    statement, params = fill(_FAMILY, where=where.sql), where.params | {"family": run.family, "before": run.start_ms}
    family: list[tuple[int, int, int | None]] = []
    for back_ms in _LOOK_BACK_MS:
        family = cur.tuples(statement, params | {"after": run.start_ms - back_ms, "limit": limit})
        if len(family) == limit:
            break
    if not family:
        return []
    keys, starts, ends = zip(*family, strict=True)
    last_ms = max(to_ms if end is None else end for end in ends)
    life = Window(start_ms=floor(min(starts), HOUR_MS), end_ms=-floor(-last_ms, HOUR_MS))
    runs = per_run(viewer, life, Filter(), ("held", "idle", "util_mean_pct", "seen_gpus"), of_these(keys))
    return cur.rows(fill(_EARLIER, runs=runs.sql, units=str(UNITS_PER_GPU_H)), runs.params, EarlierRun)
