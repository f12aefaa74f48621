"""The runs and allocations that a batch speaks of: evidence in, rows and changed stretches of time out. No SQL here."""

from collections.abc import Iterable, Sequence
from typing import Self

import msgspec

from store.evidence import Allocation, apply_accounting, apply_holding, settle
from store.identity import Life, Run, matching
from store.schema import UNPLACED
from store.segment import AccountingRun, Holding

JobId = tuple[str, str, str]
"""Kind, cluster and raw job id."""


class Change(msgspec.Struct, frozen=True):
    """A stretch on a node whose held time is not what the rollups say; ``gpu_key`` UNPLACED: of no known GPU.

    ``end_ms`` None: as far as the data reaches. ``start_ms`` None: between ``end_ms`` and where the data reached before
    the batch, whichever is earlier.
    """

    node_key: int
    gpu_key: int
    start_ms: int | None
    end_ms: int | None


class Entry:
    """A run of the book with its allocations by gpu_key, and what both were before the batch."""

    def __init__(self, run: Run, allocations: dict[int, Allocation], *, stored: bool) -> None:
        self.run = run
        self.allocations = allocations
        self.before = _copy(run, allocations) if stored else None
        self.touched = False
        self.merged_into: Self | None = None

    @property
    def is_changed(self) -> bool:
        """Whether the tables must be written."""
        return self.touched and self.before != (self.run, self.allocations)

    def changes(self) -> list[Change]:
        """Returns where held time changed: what only the state before or only the state after covers."""
        old_run, old = self.before or (None, {})
        new_run, new = (None, {}) if self.merged_into else (self.run, self.allocations)
        found: list[Change] = []
        if old_run is not None and new_run is not None and old_run.shared != new_run.shared:
            new = {}  # each hold is cut short by the next one, or is not: all of it may change
        for gpu_key in old.keys() | new.keys():
            found += _allocation_changes(gpu_key, old.get(gpu_key), new.get(gpu_key))
        return found + _unplaced_changes((old_run, len(old)), (new_run, len(self.allocations)))


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

    def settle(self, last_ms: dict[int, int]) -> None:
        """Brings every touched run in line with its allocations; ``last_ms``: node_key -> how far its data reaches.

        A session that nobody speaks of any more is over by that alone.
        """
        for entries in self._entries.values():
            for entry in entries:
                entry.touched = entry.touched or entry.run.kind == "session"
        for entry in self.touched():
            settle(entry.run, entry.allocations.values(), last_ms)

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


def _says_less(run: Run) -> bool:
    return run.db_index is None or run.is_piece


def _copy(run: Run, allocations: dict[int, Allocation]) -> tuple[Run, dict[int, Allocation]]:
    return msgspec.structs.replace(run), {key: msgspec.structs.replace(value) for key, value in allocations.items()}


def _merge(kept: Entry, other: Entry) -> Entry:
    run, gone = kept.run, other.run
    if run.db_index is None or gone.is_piece:
        run.start_ms = min(run.start_ms, gone.start_ms)
    if run.db_index is None or (run.is_piece and gone.is_piece):
        run.end_ms = None if None in (run.end_ms, gone.end_ms) else max(run.end_ms or 0, gone.end_ms or 0)
    run.restart = max(run.restart, gone.restart)
    run.seen_ms = max(run.seen_ms, gone.seen_ms)
    run.shared = run.shared or gone.shared
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


def _allocation_changes(gpu_key: int, old: Allocation | None, new: Allocation | None) -> list[Change]:
    if old is None or new is None:
        only = old or new
        assert only is not None  # noqa: S101 - the key came from one of the two
        return [Change(only.node_key, gpu_key, only.start_ms, only.end_ms)]
    if old.node_key != new.node_key:
        return [Change(a.node_key, gpu_key, a.start_ms, a.end_ms) for a in (old, new)]
    return [
        Change(new.node_key, gpu_key, start, end)
        for start, end in _difference(old.start_ms, old.end_ms, new.start_ms, new.end_ms)
    ]


def _unplaced_changes(old: tuple[Run | None, int], new: tuple[Run | None, int]) -> list[Change]:
    """Where the GPUs that accounting counts and no node showed, or their time, are others than before."""
    before, after = (_unplaced(run, placed) for run, placed in (old, new))
    if before == after:
        return []
    return [
        Change(UNPLACED, UNPLACED, run.start_ms, run.end_ms)
        for run, missing in ((old[0], before), (new[0], after))
        if run is not None and missing
    ]


def _unplaced(run: Run | None, placed: int) -> tuple[int, int, int | None] | None:
    missing = (run.alloc_gpus or 0) - placed if run is not None and run.db_index is not None else 0
    return (missing, run.start_ms, run.end_ms) if run is not None and missing > 0 else None


def _difference(
    start: int, end: int | None, new_start: int, new_end: int | None
) -> list[tuple[int | None, int | None]]:
    parts: list[tuple[int | None, int | None]] = []
    if start != new_start:
        parts.append((min(start, new_start), max(start, new_start)))
    if end is None and new_end is not None:
        parts.append((None, new_end))  # it counted as far as the data reached, which is not what is known now
    elif new_end is None and end is not None:
        parts.append((end, None))
    elif end is not None and new_end is not None and end != new_end:
        parts.append((min(end, new_end), max(end, new_end)))
    return parts
