"""Which run a piece of evidence belongs to: a node's holding or accounting's row, in whatever order they come.

A job runs at most once at a time, so two lives of one job id never overlap: evidence belongs to the run whose known
life it overlaps, whatever its start says. That joins holdings of several nodes, joins accounting with holdings, and
keeps requeued runs and reused ids apart (definitions, section 1).
"""

from collections.abc import Sequence
from typing import Final

import msgspec

OPEN_STATES: Final = frozenset({"RUNNING", "SUSPENDED", "RESIZING", "ENDED"})
"""States in which accounting has not said yet how and when the run ended."""

# Clocks of node and controller differ by a second or so, and Prolog may begin before accounting's start: a run that
# lives shorter than this may show two lives that miss each other by as much.
_SHORT_MS: Final = 60_000
_NEAR_MS: Final = 30_000


POSSIBLE, CERTAIN = 1, 2
"""What is known of a run's sharing of a GPU, in Run.shares; 0: it has a GPU to itself."""


class Run(msgspec.Struct, kw_only=True):
    """A row of table ``run`` while a batch is worked in; fields are its columns. ``run_key`` 0: not stored yet."""

    run_key: int = 0
    kind: str
    cluster: str
    job_id_raw: str
    job_id: str
    restart: int = 0
    db_index: int | None = None
    user_name: str | None = None
    uid: int | None = None
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    name: str | None = None
    state: str = "RUNNING"
    exit_code: str | None = None
    interactive: bool | None = None
    submit_ms: int | None = None
    start_ms: int
    end_ms: int | None = None
    suspended_ms: int | None = None
    elapsed_ms: int | None = None
    timelimit_ms: int | None = None
    timelimit_unlimited: bool = False
    nodes: int | None = None
    node_list: str | None = None
    req_gpus: int | None = None
    alloc_gpus: int | None = None
    gpu_type: str | None = None
    alloc_cpus: int | None = None
    req_mem_mib: int | None = None
    max_rss_mib: int | None = None
    cpu_ms: int | None = None
    work_dir: str | None = None
    shared: bool = False
    shares: int = 0
    updated_ms: int = 0
    seen_ms: int = 0
    polled_ms: int = 0

    @property
    def is_final(self) -> bool:
        """Whether accounting has said when it ended; nothing that nodes say changes start and end after that."""
        return self.db_index is not None and self.end_ms is not None and self.state not in OPEN_STATES

    @property
    def is_piece(self) -> bool:
        """Whether only accounting's row of a piece before a resize describes it: Slurm begins a new row at each."""
        return self.state == "RESIZING"

    @property
    def alive_to_ms(self) -> int:
        """The last moment at which it is known to have lived."""
        return max(self.seen_ms, self.start_ms) if self.end_ms is None else self.end_ms


class Life(msgspec.Struct, frozen=True):
    """The stretch over which a piece of evidence says that a run lived; ``restart`` None where it does not say."""

    start_ms: int
    to_ms: int
    restart: int | None = None


def matching(runs: Sequence[Run], life: Life) -> list[Run]:
    """Returns the runs (of one job id) that the evidence belongs to, best first; several of them are one run."""
    scored = [(overlap, run) for run in runs if (overlap := _overlap_ms(run, life)) is not None]
    return [run for _, run in sorted(scored, key=lambda item: (-item[0], item[1].start_ms))]


def _overlap_ms(run: Run, life: Life) -> int | None:
    overlap = min(run.alive_to_ms, life.to_ms) - max(run.start_ms, life.start_ms)
    shorter = min(run.alive_to_ms - run.start_ms, life.to_ms - life.start_ms)
    if life.restart is not None and life.restart != run.restart:
        # Either one side does not know the count (then the lives coincide), or the clocks of two executions differ.
        return overlap if overlap > 0 and 2 * overlap >= shorter else None
    if overlap >= 0 or (shorter <= _SHORT_MS and overlap >= -_NEAR_MS):
        return overlap
    return None


def later(one: int | None, other: int | None) -> int | None:
    """Returns the later of two moments, passing over None."""
    return max((moment for moment in (one, other) if moment is not None), default=None)
