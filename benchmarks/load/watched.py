"""`gpuledger serve` with a clock at its stages, put on from outside: in production nothing counts.

`python -m benchmarks.load.watched FOLDER SEAL_EVERY_S serve ...` writes Files into FOLDER.
"""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

import analytics.schedule
import gpuledger.ingester
import gpuledger.upkeep
import store.ingest
from gpuledger.cli import main
from store.database import Database
from store.inbox import Batch, Inbox
from store.ingest import IngestResult

_TASKS: Final = Path("/proc/self/task")


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """CPU seconds of each stage, its part of the database's own threads included; ``lag_s``: see Lag."""

    segments: int
    stages: dict[str, float]
    batches: int
    lag_s: float

    def since(self, before: "Watched") -> "Watched":
        """Returns what came after ``before``; the lag is that of all."""
        return msgspec.structs.replace(
            self,
            segments=self.segments - before.segments,
            stages={name: taken_s - before.stages.get(name, 0.0) for name, taken_s in self.stages.items()},
            batches=self.batches - before.batches,
        )


class Files:
    """What a watched hub writes for whoever started it."""

    def __init__(self, folder: Path) -> None:
        self.end = folder / "watched.json"  # a Watched, when it ends
        self.settled = folder / "settled.json"  # a Watched, each time that nothing waits any more


class Stages:
    """CPU time by stage. The database works with threads of its own too, which belong to whoever called it.

    Where two stages run at once both see these threads work: what they saw together is cut to what there was.
    """

    def __init__(self) -> None:
        self.callers: dict[str, float] = {}
        self._seen: dict[str, float] = {}
        self._others_s = 0.0  # as last seen: these threads are gone when the database is closed
        self._guard = threading.Lock()

    @contextmanager
    def of(self, name: str, *, asks_database: bool = True) -> Iterator[None]:
        """Counts the block. To look at the database's threads takes a millisecond: not where it is not asked."""
        others_s = _others_s() if asks_database else 0.0
        began_s = time.thread_time()
        try:
            yield
        finally:
            own_s = time.thread_time() - began_s
            now_s = _others_s() if asks_database else 0.0
            seen_s = now_s - others_s
            with self._guard:
                self._others_s = max(self._others_s, now_s)
                self.callers[name] = self.callers.get(name, 0.0) + own_s
                self._seen[name] = self._seen.get(name, 0.0) + seen_s

    def all(self) -> dict[str, float]:
        """Returns CPU seconds by stage."""
        seen_s = sum(self._seen.values())
        share = min(1.0, self._others_s / seen_s) if seen_s else 0.0
        return {name: own_s + share * self._seen[name] for name, own_s in self.callers.items()}


def _others_s() -> float:
    """Returns the CPU time of all threads that are not Python's, in s: the first field of schedstat is in ns."""
    ours = {str(thread.native_id) for thread in threading.enumerate()}
    found = 0
    for task in _TASKS.iterdir():
        if task.name not in ours:
            try:
                found += int((task / "schedstat").read_text(encoding="ascii").split()[0])
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
    return found / 1e9


_SUMMED: Final = "SELECT coalesce(sum(rows), 0)::BIGINT FROM gpu_minute"


class Lag:
    """The longest time from a segment's acknowledgement until as many rows were summed as had come in with it."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.segments = 0
        self._guard = threading.Lock()
        self._waiting: deque[float] = deque()
        self._rows = 0
        self._stored: deque[tuple[float, int]] = deque()  # of a batch: its oldest, and all rows up to its end

    def acknowledged(self, segments: int) -> None:
        """Hears of segments that are about to be."""
        self._waiting.extend([time.monotonic()] * segments)
        self.segments += segments

    def stored(self, segments: int, rows: int) -> None:
        with self._guard:
            oldest = self._waiting[0]
            for _ in range(segments):
                self._waiting.popleft()
            self._rows += rows
            self._stored.append((oldest, self._rows))

    @property
    def waits(self) -> bool:
        """Whether anything is stored and not summed."""
        return bool(self._stored)

    def summed(self, rows: int) -> bool:
        """Takes the rows that are summed now; returns whether nothing waits any more."""
        with self._guard:
            while self._stored and self._stored[0][1] <= rows:
                self.longest_s = max(self.longest_s, time.monotonic() - self._stored.popleft()[0])
        return not self._stored and not self._waiting


stages, lag = Stages(), Lag()
batches = 0


def _write(file: Path) -> None:
    found = Watched(segments=lag.segments, stages=stages.all(), batches=batches, lag_s=lag.longest_s)
    part = file.with_suffix(".part")
    part.write_bytes(msgspec.json.encode(found))
    part.rename(file)


def _watch_inbox() -> None:
    write, take, done = Inbox._write, Inbox.take, Inbox.done  # noqa: SLF001 - its writer thread's own work

    def written(self: Inbox, segments: Any) -> None:
        lag.acknowledged(len(segments))  # first: they may be stored before this thread goes on
        with stages.of("http", asks_database=False):
            write(self, segments)

    def taken(self: Inbox, *limits: Any) -> Batch:
        with stages.of("http", asks_database=False):
            return take(self, *limits)

    def forgotten(self: Inbox, batch: Batch) -> None:
        global batches  # noqa: PLW0603 - one hub a process
        with stages.of("http", asks_database=False):
            done(self, batch)
        batches += 1

    for name, seen in {"_write": written, "take": taken, "done": forgotten}.items():
        setattr(Inbox, name, seen)


def _watch_batches() -> None:
    ingest = gpuledger.ingester.ingest

    def ingested(database: Database, batch: Sequence[tuple[str, bytes]], received_ms: int) -> IngestResult:
        result = ingest(database, batch, received_ms)
        lag.stored(len(batch), result.rows)
        return result

    setattr(gpuledger.ingester, "ingest", ingested)  # noqa: B010 - the type of a module's name cannot change


def _clocked(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    def clocked(*arguments: Any, **named: Any) -> Any:
        with stages.of(name):
            return work(*arguments, **named)

    return clocked


def _watch_rollups(settled: Path) -> None:
    roll_up = _clocked("rollup", gpuledger.ingester.roll_up)

    def rolled(database: Database, *arguments: Any, **named: Any) -> int:
        taken: int = roll_up(database, *arguments, **named)
        if lag.waits:
            with database.cursor() as cursor:
                rows = cursor.scalar(_SUMMED)
            if lag.summed(rows):
                _write(settled)
        return taken

    for module in (gpuledger.ingester, analytics.schedule):
        setattr(module, "roll_up", rolled)  # noqa: B010 - the type of a module's name cannot change


def _watch(settled: Path, seal_every_s: float) -> None:
    _watch_inbox()
    _watch_batches()
    _watch_rollups(settled)
    parts = (
        ("decode", store.ingest, "parse"),
        ("insert", store.ingest, "_store_batch"),
        ("seal", gpuledger.upkeep, "seal"),
    )
    for name, module, function in parts:
        setattr(module, function, _clocked(name, getattr(module, function)))
    for name in ("footprints", "judge", "rightsize"):
        setattr(analytics.schedule, name, _clocked("analysis", getattr(analytics.schedule, name)))
    if seal_every_s:
        setattr(gpuledger.upkeep, "SEAL_S", seal_every_s)  # noqa: B010 - it is final for everybody else


if __name__ == "__main__":
    files = Files(Path(sys.argv[1]))
    _watch(files.settled, float(sys.argv[2]))
    try:
        main(sys.argv[3:])
    finally:
        _write(files.end)
