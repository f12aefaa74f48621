"""The inbox: segments that were acknowledged and are not stored yet, in append-only files.

A record is ``GPIN | length of name u16 | length of data u32 | CRC-32 of both u32 | name | data``. Appending threads share
one fdatasync: a writer takes whatever came in while the disk was busy, so none waits longer than two syncs. Files are
read in order and unlinked when every record in them is stored; since storing is idempotent by name, nothing else has to
remember how far reading got.
"""

import contextlib
import logging
import os
import struct
import threading
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Final

import msgspec

from store.errors import BacklogFull, DiskFull, StoreError

_MAGIC: Final = b"GPIN"
_RECORD: Final = struct.Struct("<4sHII")
_FILE_BYTES: Final = 64 << 20

log = logging.getLogger(__name__)


class Waiting(msgspec.Struct, frozen=True):
    """Where an acknowledged segment lies."""

    name: str
    file: Path
    offset: int
    length: int


class Batch(msgspec.Struct, frozen=True):
    """What :meth:`Inbox.take` found: (name, bytes) in the order of arrival."""

    count: int
    entries: list[tuple[str, bytes]]


class Inbox:
    """Appends from any thread, one reader. Opening it finds what an earlier process acknowledged and did not store.

    ``min_free_bytes`` of the disk stay free; beyond ``max_waiting_bytes`` nothing is accepted.
    """

    def __init__(self, directory: Path, *, min_free_bytes: int = 512 << 20, max_waiting_bytes: int = 4 << 30) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        self._min_free_bytes = min_free_bytes
        self._max_waiting_bytes = max_waiting_bytes
        self._changed = threading.Condition()
        self._waiting: deque[Waiting] = deque()
        self._unstored: dict[Path, int] = {}  # waiting records of each file
        self._waiting_bytes = 0
        self._queue: list[tuple[str, bytes, Future[None]]] = []
        self._closed = False
        self._woken = False
        self._file: _LogFile | None = None
        self._number = 0
        self._disk = threading.Lock()  # held by whoever writes: the writer thread or append_many
        self._recover()
        self._writer = threading.Thread(target=self._write_forever, name="inbox", daemon=True)
        self._writer.start()

    def append(self, data: bytes, name: str) -> None:
        """Returns when the segment is on disk; raises DiskFull or BacklogFull when it is not."""
        self.submit(data, name).result()

    def submit(self, data: bytes, name: str) -> "Future[None]":
        """Returns a future that is done when the segment is on disk, or holds DiskFull or BacklogFull."""
        future: Future[None] = Future()
        with self._changed:
            if self._closed:
                raise StoreError("The hub is stopping; nodes will deliver again.")
            self._queue.append((name, data, future))
            self._changed.notify_all()
        return future

    def append_many(self, segments: Sequence[tuple[str, bytes]]) -> None:
        """Appends (name, data) of all with one sync; raises DiskFull or BacklogFull when none of them is kept."""
        with self._disk:
            self._write(segments)

    def take(self, max_segments: int = 512, max_bytes: int = 64 << 20) -> Batch:
        """Returns the oldest segments, at least one where any waits. They stay the oldest until :meth:`done`."""
        taken: list[Waiting] = []
        size = 0
        with self._changed:
            for waiting in self._waiting:
                if taken and (len(taken) >= max_segments or size + waiting.length > max_bytes):
                    break
                taken.append(waiting)
                size += waiting.length
        return Batch(len(taken), list(_read(taken)))

    def done(self, batch: Batch) -> None:
        """Forgets the segments of the last :meth:`take`, now stored; a file of which nothing is left is unlinked."""
        with self._disk, self._changed:
            for _ in range(batch.count):
                waiting = self._waiting.popleft()
                self._waiting_bytes -= waiting.length
                self._unstored[waiting.file] -= 1
            for path in [path for path, left in self._unstored.items() if left == 0]:
                if self._file is not None and self._file.path == path:
                    self._file.close()
                    self._file = None
                path.unlink(missing_ok=True)
                del self._unstored[path]

    def wait(self, timeout_s: float) -> bool:
        """Waits until a segment can be taken; False where none came in time, on :meth:`wake` and on :meth:`close`."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._woken or self._closed, timeout_s)
            self._woken = False
            return bool(self._waiting)

    def wake(self) -> None:
        """Ends a :meth:`wait` early."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """Number of segments acknowledged and not stored yet."""
        return len(self._waiting)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of segments acknowledged and not stored yet."""
        return self._waiting_bytes

    def close(self) -> None:
        """Writes what was submitted and stops; what waits is found again when the inbox is next opened."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._writer.join()
        with self._disk:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _write_forever(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closed)
                batch, self._queue = self._queue, []
                if not batch:
                    return
            try:
                with self._disk:
                    self._write([(name, data) for name, data, _ in batch])
            except StoreError as error:
                for _, _, future in batch:
                    future.set_exception(error)
            except BaseException as error:  # noqa: BLE001 - whoever waits for the future must hear of anything
                for _, _, future in batch:
                    future.set_exception(error)
            else:
                for _, _, future in batch:
                    future.set_result(None)

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
            self._file = None
        self._number += 1
        self._file = _LogFile(self._directory / f"{self._number:010d}.log")

    def _recover(self) -> None:
        for path in sorted(self._directory.glob("*.log")):
            self._number = max(self._number, int(path.stem))
            found = list(_scan(path))
            self._waiting.extend(found)
            self._waiting_bytes += sum(waiting.length for waiting in found)
            if found:
                self._unstored[path] = len(found)
            else:
                path.unlink()


class _LogFile:
    """One append-only file. A write that fails leaves it as it was before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        directory = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(directory)  # the name of the file must survive a power cut, too
        finally:
            os.close(directory)

    def append(self, segments: Sequence[tuple[str, bytes]]) -> list[Waiting]:
        added: list[Waiting] = []
        pieces: list[bytes] = []
        offset = self.size
        for name, data in segments:
            label = name.encode()
            pieces += (_RECORD.pack(_MAGIC, len(label), len(data), zlib.crc32(data, zlib.crc32(label))), label, data)
            offset += _RECORD.size + len(label)
            added.append(Waiting(name, self.path, offset, len(data)))
            offset += len(data)
        try:
            _write_all(self._fd, b"".join(pieces))
            os.fdatasync(self._fd)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.size)
            raise
        self.size = offset
        return added

    def close(self) -> None:
        os.close(self._fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _read(taken: Sequence[Waiting]) -> Iterator[tuple[str, bytes]]:
    with contextlib.ExitStack() as stack:
        open_files: dict[Path, int] = {}
        for waiting in taken:
            if waiting.file not in open_files:
                fd = os.open(waiting.file, os.O_RDONLY | os.O_CLOEXEC)
                stack.callback(os.close, fd)
                open_files[waiting.file] = fd
            yield waiting.name, os.pread(open_files[waiting.file], waiting.length, waiting.offset)


def _scan(path: Path) -> Iterator[Waiting]:
    """Yields the whole records of a file, passing over what is torn: a tail that nobody was told was kept."""
    data = path.read_bytes()
    position = 0
    while (start := data.find(_MAGIC, position)) >= 0:
        record = _record_at(data, start, path)
        if record is None:
            position = start + 1
            continue
        if start != position:
            log.warning("inbox file=%s skipped_bytes=%d at=%d", path.name, start - position, position)
        yield record
        position = record.offset + record.length
    if position < len(data):
        log.warning("inbox file=%s dropped_tail_bytes=%d", path.name, len(data) - position)


def _record_at(data: bytes, start: int, path: Path) -> Waiting | None:
    if len(data) < start + _RECORD.size:
        return None
    _, name_length, length, checksum = _RECORD.unpack_from(data, start)
    label_at = start + _RECORD.size
    label = data[label_at : label_at + name_length]
    body = memoryview(data)[label_at + name_length : label_at + name_length + length]
    if len(body) != length or zlib.crc32(body, zlib.crc32(label)) != checksum:
        return None
    return Waiting(label.decode(errors="replace"), path, label_at + name_length, length)
