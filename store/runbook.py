"""The runs and allocations that a batch speaks of: evidence in, rows and changed stretches of time out. No SQL here."""

from collections.abc import Iterable, Sequence
from typing import Self

import msgspec

from store import suspensions
from store.changes import Change, allocation_changes, unplaced_changes
from store.evidence import POLL, TELL_ALL, Allocation, apply_accounting, apply_holding, settle
from store.identity import Life, Run, matching
from store.live import apply_live
from store.orders import Orders
from store.schema import UNPLACED
from store.segment import AccountingRun, Holding, LiveRun
from store.suspensions import Suspensions, changed

JobId = tuple[str, str, str]
"""Kind, cluster and raw job id."""


class Entry:
    """A run of the book with its allocations by gpu_key, and what both were before the batch."""

    def __init__(
        self,
        run: Run,
        allocations: dict[int, Allocation],
        suspensions: Suspensions | None = None,
        *,
        stored: bool,
    ) -> None:
        self.run = run
        self.allocations = allocations
        self.suspensions: Suspensions = suspensions or {}
        self.before = self._copy() if stored else None
        self.disputes: set[tuple[int, int]] = set()  # node_key and gpu_key that only a poll says the run holds
        self.touched = False
        self.merged_into: Self | None = None

    @property
    def is_changed(self) -> bool:
        """Whether the tables must be written."""
        return self.touched and self.before != (self.run, self.allocations, self.suspensions)

    @property
    def is_described_anew(self) -> bool:
        """Whether a stored run's user, account or partition is another than before."""
        if self.before is None:
            return False
        (old, *_), new = self.before, self.run
        return (old.user_name, old.account, old.partition) != (new.user_name, new.account, new.partition)

    @property
    def is_only_seen(self) -> bool:
        """Whether the run is what it was, seen once more."""
        return self.before is not None and self.before[0] == msgspec.structs.replace(
            self.run, seen_ms=self.before[0].seen_ms
        )

    def _copy(self) -> tuple[Run, dict[int, Allocation], Suspensions]:
        return (
            msgspec.structs.replace(self.run),
            {key: msgspec.structs.replace(value) for key, value in self.allocations.items()},
            {key: msgspec.structs.replace(value) for key, value in self.suspensions.items()},
        )

    def changes(self) -> list[Change]:
        """Returns where held time changed: what only the state before or only the state after covers."""
        old_run, old, old_suspensions = self.before or (None, {}, {})
        if (
            self.is_only_seen
            and not self.merged_into
            and (old, old_suspensions) == (self.allocations, self.suspensions)
        ):
            return []
        new_run, new = (None, {}) if self.merged_into else (self.run, self.allocations)
        found: list[Change] = []
        if old_run is not None and new_run is not None and old_run.shared != new_run.shared:
            new = {}  # each hold is cut short by the next one, or is not: all of it may change
        for gpu_key in old.keys() | new.keys():
            found += allocation_changes(gpu_key, old.get(gpu_key), new.get(gpu_key))
        for start_ms, end_ms in changed(old_suspensions, self.suspensions):
            places = {(held.node_key, gpu_key) for gpu_key, held in self.allocations.items()}
            found += [Change(*place, start_ms, end_ms) for place in (*places, (UNPLACED, UNPLACED))]
        return found + unplaced_changes((old_run, len(old)), (new_run, len(self.allocations)))


class RunBook:
    """Feed it the stored entries, then every holding and accounting row, then call :meth:`settle` once."""

    def __init__(self) -> None:
        self._entries: dict[JobId, list[Entry]] = {}

    def add(self, entry: Entry) -> None:
        run = entry.run
        self._entries.setdefault((run.kind, run.cluster, run.job_id_raw), []).append(entry)

    def observe(self, holding: Holding, seen_ms: int, node_key: int, gpu_keys: Iterable[int]) -> Entry:
        """Works in one node's hold of its GPUs, last listed at ``seen_ms``, and returns the run's entry.

        The entry may be merged into another one later in the batch: read it through :func:`final`.
        """
        to_ms = holding.end_ms if holding.end_ms is not None else max(seen_ms, holding.start_ms)
        # Only Slurm's own environment in a hook tells the restart count; a cgroup path does not.
        life = Life(holding.start_ms, to_ms, holding.restart if holding.source == "hook" else None)
        entry = self._joined(self._of(holding.kind, holding.cluster, holding.job_id), life)
        if entry is None:
            entry = Entry(
                Run(
                    kind=holding.kind,
                    cluster=holding.cluster,
                    job_id_raw=holding.job_id,
                    job_id=holding.job_id,
                    start_ms=holding.start_ms,
                ),
                {},
                stored=False,
            )
            self.add(entry)
        entry.touched = True
        apply_holding(entry.run, holding, to_ms)
        # A session ends by the absence of its processes, which nobody reports when the agent is gone.
        end_ms = to_ms if holding.kind == "session" else holding.end_ms
        for gpu_key in gpu_keys:
            _allocate(entry, gpu_key, Allocation(node_key, holding.start_ms, end_ms, holding.source))
        return entry

    def describe(self, row: AccountingRun, written_ms: int) -> None:
        """Works in one accounting row. A row that never ran is passed over, and so is one without any GPU."""
        if row.start_ms is None:
            return
        to_ms = row.end_ms if row.end_ms is not None else max(written_ms, row.start_ms)
        life = Life(row.start_ms, to_ms, row.restart)
        known = self._of("job", row.cluster, row.job_id_raw)
        entry = next((entry for entry in known if entry.run.db_index == row.db_index), None)
        if entry is None:
            # A row of accounting with another index is another run however the two touch, unless one is a piece.
            open_to = [e for e in known if e.run.db_index is None or e.run.is_piece or row.state == "RESIZING"]
            entry = self._joined(open_to, life)
        if entry is None:
            if not row.alloc_gpus:
                return
            run = Run(
                kind="job",
                cluster=row.cluster,
                job_id_raw=row.job_id_raw,
                job_id=row.job_id,
                start_ms=row.start_ms,
            )
            entry = Entry(run, {}, stored=False)
            self.add(entry)
        entry.touched = True
        apply_accounting(entry.run, row, written_ms)

    def live(self, live: LiveRun, at_ms: int, orders: Orders) -> None:
        """Works in a run that the poll of the queue at ``at_ms`` listed; ``orders`` tell its GPUs."""
        life = Life(live.start_ms, max(at_ms, live.start_ms), live.restart)
        entry = self._joined(self._of("job", live.cluster, live.job_id_raw), life)
        if entry is None:
            if not live.alloc_gpus:
                return
            entry = Entry(
                Run(
                    kind="job",
                    cluster=live.cluster,
                    job_id_raw=live.job_id_raw,
                    job_id=live.job_id,
                    restart=live.restart or 0,
                    start_ms=live.start_ms,
                ),
                {},
                stored=False,
            )
            self.add(entry)
        entry.touched = True
        apply_live(entry.run, live, at_ms)
        suspensions.note(entry.suspensions, live)
        if not live.shared:
            for place in live.places:
                for gpu_key, node_key in orders.gpus(place).items():
                    _allocate(entry, gpu_key, Allocation(node_key, live.start_ms, None, POLL))

    def session_nodes(self) -> list[int]:
        """Returns node_key of the nodes on which sessions are."""
        entries = (entry for (kind, *_), found in self._entries.items() if kind == "session" for entry in found)
        return sorted({held.node_key for entry in entries for held in entry.allocations.values()})

    def settle(self, last_ms: dict[int, int], whole_ms: dict[str, int]) -> None:
        """Brings every touched run in line with its allocations.

        A session that nobody speaks of any more is over by that alone, and so is a run that the newest poll of every
        live run does not list.

        Args:
            last_ms: node_key -> how far its data reaches, of session_nodes at least.
            whole_ms: cluster -> when a poll of its queue last listed every live run.
        """
        for entries in self._entries.values():
            for entry in entries:
                run = entry.run
                unlisted = run.end_ms is None and 0 < run.polled_ms < whole_ms.get(run.cluster, 0)
                entry.touched = entry.touched or run.kind == "session" or unlisted
        for entry in self.touched():
            _keep_the_higher(entry)
            settle(entry.run, entry.allocations.values(), last_ms, whole_ms.get(entry.run.cluster, 0))
            suspensions.settle(entry.run, entry.suspensions)

    def touched(self) -> list[Entry]:
        """Returns the entries that the batch spoke of, those merged away left out."""
        return [
            entry for entries in self._entries.values() for entry in entries if entry.touched and not entry.merged_into
        ]

    def merged(self) -> list[Entry]:
        """Returns the stored entries that turned out to be part of another run."""
        return [entry for entries in self._entries.values() for entry in entries if entry.merged_into and entry.before]

    def _of(self, kind: str, cluster: str, job_id: str) -> list[Entry]:
        return [entry for entry in self._entries.get((kind, cluster, job_id), []) if not entry.merged_into]

    def _joined(self, entries: Sequence[Entry], life: Life) -> Entry | None:
        """Returns the entry that the evidence belongs to; entries that it shows to be one run become one."""
        by_run = {id(entry.run): entry for entry in entries}
        found = [by_run[id(run)] for run in matching([entry.run for entry in entries], life)]
        if not found:
            return None
        kept = found[0]
        for entry in found[1:]:
            if _says_less(entry.run):
                kept = _merge(kept, entry)
            elif _says_less(kept.run):
                kept = _merge(entry, kept)
        return kept


def final(entry: Entry) -> Entry:
    """Returns the entry that stands for this one after merging."""
    while entry.merged_into is not None:
        entry = entry.merged_into
    return entry


def _keep_the_higher(entry: Entry) -> None:
    """Drops what polls said of GPUs on a node that knows better.

    What a poll adds to GPUs on which processes were seen counts until there are more than the run has.
    """
    allocations = entry.allocations
    too_many = entry.run.alloc_gpus is not None and len(allocations) > entry.run.alloc_gpus
    told = {
        held.node_key for held in allocations.values() if held.source in TELL_ALL or (too_many and held.source != POLL)
    }
    for gpu_key, held in list(allocations.items()):
        if held.source == POLL and held.node_key in told:
            entry.disputes.add((held.node_key, gpu_key))
            del allocations[gpu_key]


def _says_less(run: Run) -> bool:
    return run.db_index is None or run.is_piece


def _merge(kept: Entry, other: Entry) -> Entry:
    run, gone = kept.run, other.run
    if run.db_index is None or gone.is_piece:
        run.start_ms = min(run.start_ms, gone.start_ms)
    if run.db_index is None or (run.is_piece and gone.is_piece):
        run.end_ms = None if None in (run.end_ms, gone.end_ms) else max(run.end_ms or 0, gone.end_ms or 0)
    run.restart = max(run.restart, gone.restart)
    run.seen_ms = max(run.seen_ms, gone.seen_ms)
    run.polled_ms = max(run.polled_ms, gone.polled_ms)
    run.shares = max(run.shares, gone.shares)
    suspensions.merge(kept.suspensions, other.suspensions)
    for gpu_key, allocation in other.allocations.items():
        _allocate(kept, gpu_key, allocation)
    other.merged_into, kept.touched = kept, True
    return kept


def _allocate(entry: Entry, gpu_key: int, seen: Allocation) -> None:
    known = entry.allocations.get(gpu_key)
    if known is None:
        entry.allocations[gpu_key] = msgspec.structs.replace(seen)
    else:
        known.widen(seen)
