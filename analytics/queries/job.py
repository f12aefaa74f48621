"""One run in full: what it asked for, what each GPU did, what was found, and what its family did before."""

import msgspec

from analytics.model import Viewer
from analytics.queries.findings import FindingRow, UnjudgedRow
from analytics.queries.recommendations import RecommendationRow
from analytics.queries.strips import StripPart
from store.database import Cursor


class GpuUse(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU of a run over its life. ``gpu`` is ``node:index``; figures are None until the first footprint."""

    gpu_key: int
    gpu: str
    uuid: str | None
    node: str | None
    model: str | None
    source: str
    start_ms: int
    end_ms: int | None
    held_ms: int
    active_ms: int
    low_ms: int
    idle_held_ms: int
    idle_ms: int
    unknown_ms: int
    coverage: float | None
    util_mean_pct: float | None
    util_p95_pct: float | None
    util_max_pct: float | None
    sm_mean_pct: float | None
    mem_max_mib: float | None
    mem_total_mib: int | None
    power_mean_w: float | None
    power_limit_w: float | None
    energy_kwh: float | None
    energy_estimated: bool | None
    leading_idle_ms: int | None
    trailing_idle_ms: int | None
    longest_idle_ms: int | None
    throttled_ms: int | None


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened on the run's nodes during its life."""

    ts_ms: int
    node: str
    gpu: str | None
    kind: str
    detail: str


class EarlierRun(msgspec.Struct, frozen=True, kw_only=True):
    """Another run of the same family, newest first."""

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
    earlier: list[EarlierRun]
    strip: list[StripPart]


def resolve(cur: Cursor, viewer: Viewer, text: str) -> list[int]:
    """Returns the run keys that people mean by 123, 123_4, 123+1, cluster:123 or s-...; newest first."""
    raise NotImplementedError


def newest(cur: Cursor, viewer: Viewer, user: str) -> int | None:
    """Returns the run key of a person's newest run."""
    raise NotImplementedError


def job(cur: Cursor, viewer: Viewer, run_key: int) -> JobDetail | None:
    """Returns a run in full, or None where there is none that the viewer may see."""
    raise NotImplementedError
