"""The inbox: segments that were acknowledged and are not stored yet, in append-only files.

Those who append share one fdatasync: the writer takes whatever came in within a moment, or while the disk was busy.
Waking a thread for each segment costs more than all else that is done for it, so one future tells them all. Files are
read in order and unlinked when every record in them is stored; since storing is idempotent by name, nothing else has to
remember how far reading got.
"""

import os
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from store.errors import BacklogFull, DiskFull, Overloaded, StoreError
from store.inbox_files import LogFile, Step, Waiting, read, scan
from store.room import IN_FLIGHT_BYTES

_FILE_BYTES: Final = 64 << 20
_SYNC_BYTES: Final = 16 << 20
"""What is written at once, about: it is copied for that, and nobody should wait longer for the disk."""

_GATHER_S: Final = 0.02
"""How long the first of a group waits for others to share its sync."""


class Group:
    """Segments that are written together; ``kept`` is done when they are on disk, or says why they are not."""

    def __init__(self) -> None:
        self.segments: list[tuple[str, bytes]] = []
        self.bytes = 0
        self.kept: Future[None] = Future()
        self.kept.set_running_or_notify_cancel()  # whoever stops waiting for it stops nobody else


class Batch(msgspec.Struct, frozen=True):
    """What :meth:`Inbox.take` found: (name, bytes) in the order of arrival."""

    count: int
    entries: list[tuple[str, bytes]]


class Inbox:
    """Appends from any thread, one reader. What an earlier process acknowledged and did not store comes first.

    Opening it only lists files: a backlog of gigabytes is read file by file as it is stored, while the door is open.

    ``min_free_bytes`` of the disk stay free; beyond ``max_waiting_bytes`` nothing is accepted.
    """

    def __init__(
        self,
        directory: Path,
        *,
        min_free_bytes: int = 512 << 20,
        max_waiting_bytes: int = 4 << 30,
        step: Step = lambda _: None,
    ) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        self._min_free_bytes = min_free_bytes
        self._max_waiting_bytes = max_waiting_bytes
        self._step = step
        self._guard = threading.Lock()
        self._submitted = threading.Condition(self._guard)  # the writer waits for it
        self._changed = threading.Condition(self._guard)  # whoever stores
        self._unread: deque[tuple[Path, int]] = deque()  # files of an earlier process, and their sizes
        self._before: deque[Waiting] = deque()  # what such files hold; all of it older than what waits
        self._waiting: deque[Waiting] = deque()
        self._unstored: dict[Path, int] = {}  # waiting records of each file
        self._waiting_bytes = 0
        self._queue: deque[Group] = deque()
        self._queued_bytes = 0
        self._closed = False
        self._woken = False
        self._file: LogFile | None = None
        self._number = 0
        self._disk = threading.Lock()  # held by whoever writes: the writer thread or append_many
        self._list_files()
        self._writer = threading.Thread(target=self._write_forever, name="inbox", daemon=True)
        self._writer.start()

    def append(self, data: bytes, name: str) -> None:
        """Returns when the segment is on disk; raises DiskFull, BacklogFull or Overloaded when it is not."""
        self.submit(data, name).result()

    def submit(self, data: bytes, name: str) -> "Future[None]":
        """Returns the future of its group, done when the segment is on disk, or with DiskFull or BacklogFull.

        Raises Overloaded where too much waits for the disk already.
        """
        with self._guard:
            if self._closed:
                raise StoreError("The hub is stopping; nodes will deliver again.")
            if self._queued_bytes + len(data) > IN_FLIGHT_BYTES:
                raise Overloaded(IN_FLIGHT_BYTES)
            if not self._queue or self._queue[-1].bytes >= _SYNC_BYTES:
                self._queue.append(Group())
            group = self._queue[-1]
            group.segments.append((name, data))
            group.bytes += len(data)
            self._queued_bytes += len(data)
            if len(group.segments) == 1 or group.bytes >= _SYNC_BYTES:
                self._submitted.notify()
        return group.kept

    def append_many(self, segments: Sequence[tuple[str, bytes]]) -> None:
        """Appends (name, data) of all with one sync; raises DiskFull or BacklogFull when none of them is kept."""
        with self._disk:
            self._write(segments)

    def take(self, max_segments: int = 1024, max_bytes: int = 16 << 20) -> Batch:
        """Returns the oldest segments, at least one where any waits. They stay the oldest until :meth:`done`."""
        while self._unread and len(_first(self._before, max_segments, max_bytes)) == len(self._before):
            self._read_file()
        with self._changed:
            taken = _first(chain(self._before, () if self._unread else self._waiting), max_segments, max_bytes)
        return Batch(len(taken), list(read(taken)))

    def done(self, batch: Batch) -> None:
        """Forgets the segments of the last :meth:`take`, now stored; a file of which nothing is left is unlinked."""
        with self._disk, self._changed:
            for _ in range(batch.count):
                waiting = (self._before or self._waiting).popleft()
                self._waiting_bytes -= waiting.length
                self._unstored[waiting.file] -= 1
            for path in [path for path, left in self._unstored.items() if left == 0]:
                if self._file is not None and self._file.path == path:
                    self._file.close()
                    self._file = None
                self._step("before the file goes")
                path.unlink(missing_ok=True)
                del self._unstored[path]

    def wait(self, timeout_s: float) -> bool:
        """Waits until a segment can be taken; False where none came in time, on :meth:`wake` and on :meth:`close`."""
        with self._changed:
            self._changed.wait_for(lambda: self.waiting or self._woken or self._closed, timeout_s)
            self._woken = False
            return bool(self.waiting)

    def wake(self) -> None:
        """Ends a :meth:`wait` early."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """Number of segments acknowledged and not stored yet; a file that was not read yet counts as one."""
        return len(self._unread) + len(self._before) + len(self._waiting)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of segments acknowledged and not stored yet."""
        return self._waiting_bytes

    def close(self) -> None:
        """Writes what was submitted and stops; what waits is found again when the inbox is next opened."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._submitted.notify()
        self._writer.join()
        with self._disk:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _write_forever(self) -> None:
        while (group := self._next_group()) is not None:
            try:
                with self._disk:
                    self._write(group.segments)
            except BaseException as error:  # noqa: BLE001 - whoever waits for the future must hear of anything
                group.kept.set_exception(error)
            else:
                group.kept.set_result(None)

    def _next_group(self) -> Group | None:
        with self._guard:
            self._submitted.wait_for(lambda: self._queue or self._closed)
            self._submitted.wait_for(
                lambda: self._closed or len(self._queue) > 1 or self._queue[0].bytes >= _SYNC_BYTES, _GATHER_S
            )
            if not self._queue:
                return None
            group = self._queue.popleft()
            self._queued_bytes -= group.bytes
            return group

    def _write(self, segments: Sequence[tuple[str, bytes]]) -> None:
        size = sum(len(data) for _, data in segments)
        if self._waiting_bytes + size > self._max_waiting_bytes:
            raise BacklogFull(self._waiting_bytes, self._max_waiting_bytes)
        try:
            self._refuse_full(size)
            if self._file is None or self._file.size >= _FILE_BYTES:
                self._next_file()
            assert self._file is not None  # noqa: S101 - _next_file made it
            added = self._file.append(segments)
        except OSError as error:
            self._leave_file()
            raise DiskFull(self._directory, error.strerror or str(error)) from error
        with self._changed:
            self._waiting.extend(added)
            self._unstored[self._file.path] = self._unstored.get(self._file.path, 0) + len(added)
            self._waiting_bytes += size
            self._changed.notify_all()

    def _refuse_full(self, size: int) -> None:
        disk = os.statvfs(self._directory)
        free = disk.f_bavail * disk.f_frsize
        if free < self._min_free_bytes + size:
            raise DiskFull(self._directory, f"{free >> 20} MiB free, {self._min_free_bytes >> 20} MiB are kept free")

    def _next_file(self) -> None:
        if self._file is not None:
            self._file.close()
        self._number += 1
        self._file = LogFile(self._directory / f"{self._number:010d}.log", self._step)

    def _leave_file(self) -> None:
        # What a failed write or sync left at its end is torn; the records before that are on disk.
        if self._file is not None:
            self._file.close()
            if self._file.path not in self._unstored:
                self._file.path.unlink(missing_ok=True)
            self._file = None

    def _list_files(self) -> None:
        for path in sorted(self._directory.glob("[0-9]*.log")):
            self._number = max(self._number, int(path.stem))
            size = path.stat().st_size
            self._unread.append((path, size))
            self._waiting_bytes += size

    def _read_file(self) -> None:
        path, size = self._unread[0]
        found = list(scan(path))
        with self._changed:
            self._unread.popleft()
            self._waiting_bytes += sum(waiting.length for waiting in found) - size
            self._before.extend(found)
            if found:
                self._unstored[path] = len(found)
        if not found:
            path.unlink()


def _first(oldest: Iterable[Waiting], max_segments: int, max_bytes: int) -> list[Waiting]:
    """Returns the first of them up to these limits, at least one where there is any."""
    taken: list[Waiting] = []
    size = 0
    for waiting in oldest:
        size += waiting.length
        if taken and (len(taken) >= max_segments or size > max_bytes):
            break
        taken.append(waiting)
    return taken
