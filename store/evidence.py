"""What one piece of evidence changes on a run: a node's holding, accounting's row, and how the two agree in the end."""

from collections.abc import Collection
from functools import lru_cache
from typing import Final

import msgspec
from ClusterShell.NodeSet import NodeSet

from store.identity import CERTAIN, OPEN_STATES, POSSIBLE, Run, later
from store.live import settle_polled
from store.segment import AccountingRun, Holding

SESSION_GAP_MS = 600_000
"""Processes of one user that come back within ten minutes are one session (definitions, section 1)."""


POLL: Final = "poll"
TELL_ALL: Final = ("hook", "site", "step")
"""Sources that name every GPU of a job on their node; processes show some."""


class Allocation(msgspec.Struct):
    """A row of table ``allocation`` while a batch is worked in; ``end_ms`` None while it lasts."""

    node_key: int
    start_ms: int
    end_ms: int | None
    source: str

    def widen(self, other: "Allocation") -> None:
        """Takes in another sight of the same hold: an end that is known outranks one that is not."""
        self.source = min(self.source, other.source, key=_rank)
        self.node_key = other.node_key
        self.start_ms = min(self.start_ms, other.start_ms)
        self.end_ms = later(self.end_ms, other.end_ms)


_SOURCES = ("hook", "site", "step", "cgroup", "poll", "process")  # the best one first


def _rank(source: str) -> int:
    return _SOURCES.index(source) if source in _SOURCES else len(_SOURCES)


def apply_holding(run: Run, holding: Holding, to_ms: int) -> None:
    """Works a node's holding into its run; ``to_ms`` is the last moment at which the node knew it alive."""
    run.restart = max(run.restart, holding.restart)
    run.seen_ms = max(run.seen_ms, to_ms)
    run.shares = max(run.shares, _share(holding))
    # What accounting says of a person or a partition stays; a node only fills in.
    run.user_name = run.user_name or holding.user
    run.uid = holding.uid if run.uid is None else run.uid
    run.account = run.account or holding.account
    run.partition = run.partition or holding.partition
    run.name = run.name or holding.name
    if run.db_index is None:
        run.start_ms = min(run.start_ms, holding.start_ms)
    if run.kind == "session" and holding.end_ms is not None:
        # A session that is over is told once, with the moment its last process was seen: before that, all through the
        # wait for another process, it was listed as lasting. What is told outranks what was listed.
        run.elapsed_ms = max(run.elapsed_ms or 0, holding.end_ms - run.start_ms)
    if not run.is_final:
        run.end_ms = later(run.end_ms, holding.end_ms)


def apply_accounting(run: Run, row: AccountingRun, written_ms: int) -> None:
    """Works accounting's row into its run, unless the run has one that says more or was written later."""
    assert row.start_ms is not None  # noqa: S101 - a row that never ran makes no run
    is_piece = row.state == "RESIZING"
    first_ms = row.start_ms if run.db_index is None else min(run.start_ms, row.start_ms)
    if run.db_index not in (None, row.db_index):
        run.start_ms = first_ms
        if is_piece:
            if run.is_piece:
                run.end_ms = later(run.end_ms, row.end_ms)
            return
        run.end_ms = None  # that was the end of a piece
    elif (row.end_ms is not None, written_ms) < (run.is_final, run.updated_ms):
        return
    run.db_index, run.updated_ms, run.job_id, run.state = row.db_index, written_ms, row.job_id, row.state
    run.start_ms = first_ms
    if row.end_ms is not None:
        run.end_ms = max(row.end_ms, row.start_ms) if not is_piece else later(run.end_ms, row.end_ms)
    run.seen_ms = max(run.seen_ms, row.end_ms if row.end_ms is not None else written_ms)
    for field in _SAME_NAME:
        value = getattr(row, field)
        if value is not None:
            setattr(run, field, value)
    run.user_name = row.user or run.user_name
    run.interactive = run.interactive if row.has_batch_step is None else not row.has_batch_step
    run.elapsed_ms = _ms(row.elapsed_s, run.elapsed_ms)
    run.suspended_ms = _ms(row.suspended_s, run.suspended_ms)
    run.timelimit_ms = _ms(row.timelimit_s, run.timelimit_ms)
    run.cpu_ms = _ms(row.cpu_s, run.cpu_ms)
    run.timelimit_unlimited = row.timelimit_unlimited
    if row.nodes:
        run.nodes, run.node_list = len(row.nodes), _folded(row.nodes)


_SAME_NAME = (
    *("uid", "account", "partition", "qos", "name", "submit_ms", "req_gpus", "alloc_gpus", "gpu_type"),
    *("alloc_cpus", "req_mem_mib", "max_rss_mib", "exit_code", "work_dir", "restart"),
)


def settle(run: Run, allocations: Collection[Allocation], last_ms: dict[int, int], whole_ms: int) -> None:
    """Brings start, end and state of a run in line with its allocations, once a batch's evidence is in.

    ``last_ms`` says by node_key how far each node's data reaches; ``whole_ms``: when a poll last listed all live runs.
    """
    # Slurm counts no gres/gpu for a job with shards or MPS, and in the Prolog its place looks like a whole GPU's.
    run.shared = run.shares == CERTAIN or (run.shares == POSSIBLE and not run.alloc_gpus)
    if run.db_index is not None:
        for allocation in allocations:
            allocation.start_ms = run.start_ms
    if run.is_final:
        for allocation in allocations:
            allocation.end_ms = run.end_ms
        return
    if run.kind == "session":
        _end_session(run, allocations, last_ms)
    else:
        _end_job(run, allocations, whole_ms)
    if not run.is_piece:
        _settle_state(run)


def _end_job(run: Run, allocations: Collection[Allocation], whole_ms: int) -> None:
    told = [allocation for allocation in allocations if allocation.source != POLL]
    if told:
        ends = [allocation.end_ms for allocation in told if allocation.end_ms is not None]
        run.end_ms = max(ends) if len(ends) == len(told) else None
    elif run.polled_ms and run.db_index is None:
        settle_polled(run, whole_ms)
    for allocation in allocations:
        if allocation.source == POLL:
            allocation.start_ms, allocation.end_ms = run.start_ms, run.end_ms


def _settle_state(run: Run) -> None:
    if run.end_ms is not None:
        run.state = "ENDED"
    elif run.state not in OPEN_STATES or run.state == "ENDED":
        run.state = "RUNNING"


def _share(holding: Holding) -> int:
    return CERTAIN if holding.shared else POSSIBLE if holding.may_share else 0


def _end_session(run: Run, allocations: Collection[Allocation], last_ms: dict[int, int]) -> None:
    if run.elapsed_ms is not None:
        run.end_ms = run.start_ms + run.elapsed_ms
        for allocation in allocations:
            allocation.end_ms = run.end_ms
        return
    over = any(last_ms.get(a.node_key, 0) - run.seen_ms > SESSION_GAP_MS for a in allocations)
    run.end_ms = run.seen_ms if over or run.end_ms == run.seen_ms else None


def _ms(seconds: float | None, otherwise: int | None) -> int | None:
    return otherwise if seconds is None else round(seconds * 1000)


@lru_cache(maxsize=4096)
def _folded(nodes: tuple[str, ...]) -> str:
    return nodes[0] if len(nodes) == 1 else str(NodeSet.fromlist(nodes))
