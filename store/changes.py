"""Where held time changed: what only the state before a batch or only the state after it covers."""

import msgspec

from store.evidence import Allocation
from store.identity import Run
from store.schema import UNPLACED


class Change(msgspec.Struct, frozen=True):
    """A stretch on a node whose held time is not what the rollups say; ``gpu_key`` UNPLACED: of no known GPU.

    ``end_ms`` None: as far as the data reaches. ``start_ms`` None: between ``end_ms`` and where the data reached before
    the batch, whichever is earlier; ``since_ms`` is then where the hold began.
    """

    node_key: int
    gpu_key: int
    start_ms: int | None
    end_ms: int | None
    since_ms: int | None = None


def allocation_changes(gpu_key: int, old: Allocation | None, new: Allocation | None) -> list[Change]:
    """Returns where one run's hold of one GPU changed; None: there is none."""
    if old is None or new is None:
        only = old or new
        assert only is not None  # noqa: S101 - the key came from one of the two
        return [Change(only.node_key, gpu_key, only.start_ms, only.end_ms)]
    if old.node_key != new.node_key:
        return [Change(a.node_key, gpu_key, a.start_ms, a.end_ms) for a in (old, new)]
    return [
        Change(new.node_key, gpu_key, start, end, new.start_ms)
        for start, end in _difference(old.start_ms, old.end_ms, new.start_ms, new.end_ms)
    ]


def unplaced_changes(old: tuple[Run | None, int], new: tuple[Run | None, int]) -> list[Change]:
    """Where the GPUs that Slurm counts and no node showed, or their time, are others than before."""
    before, after = (_unplaced(run, placed) for run, placed in (old, new))
    if before == after:
        return []
    return [
        Change(UNPLACED, UNPLACED, run.start_ms, run.end_ms)
        for run, missing in ((old[0], before), (new[0], after))
        if run is not None and missing
    ]


def _unplaced(run: Run | None, placed: int) -> tuple[int, int, int | None] | None:
    missing = (run.alloc_gpus or 0) - placed if run is not None else 0
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
