"""Can these numbers be trusted? What reported, what was refused, what ran and what failed."""

import msgspec

from analytics.model import Viewer
from analytics.queries.nodes import NodeRow
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


class Unmeasurable(msgspec.Struct, frozen=True, kw_only=True):
    """A reading that GPUs of a model do not give, and why."""

    model: str | None
    metric: str
    label: str
    reason: str
    gpus: int


class SlurmHours(msgspec.Struct, frozen=True, kw_only=True):
    """GPU-hours of finished jobs as Slurm counts them (GPUs x elapsed) beside ours, same runs."""

    runs: int
    slurm_gpu_h: float
    our_gpu_h: float


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """``ok`` is true where nothing below needs anybody; ``problems`` says in sentences what does."""

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
    pending_hours: int
    pending_runs: int
    jobs: list[LogRow]
    probes: list[LogRow]
    unmeasurable: list[Unmeasurable]
    slurm: SlurmHours | None
    store_bytes: int | None
    rows: int
    synthetic: bool


def health(cur: Cursor, viewer: Viewer, now_ms: int) -> Health:
    """Returns the state of the whole chain as seen at ``now_ms``."""
    raise NotImplementedError
