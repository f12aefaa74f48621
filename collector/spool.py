"""Segments on the node's disk, from the moment they are closed until the hub has acknowledged them.

A segment is written beside its place, synced, renamed and the directory synced: after a crash it is there whole, or not
at all. Where the disk refuses it, it waits in memory and is written with the next one.
"""

import contextlib
import fcntl
import logging
import os
import threading
from pathlib import Path
from typing import Final, NamedTuple, TextIO

from store.segment import SegmentError, read_head

log = logging.getLogger(__name__)
SUFFIX: Final = ".segment"
_MOST_IN_MEMORY: Final = 240  # segments; four hours at one a minute


class SpoolBusy(Exception):
    """Another agent works on the same directory. The message names it."""


class SpoolUnusable(Exception):
    """The directory cannot be made or written. The message is one sentence with the next step."""


class Dropped(NamedTuple):
    """What had to go because the spool was full or too old."""

    segments: int
    rows: int


class Spool:
    """The segments of one directory, oldest first. Safe to use from the agent's and the delivery's thread."""

    def __init__(self, directory: Path, max_bytes: int, max_age_s: float) -> None:
        """Takes the directory for this process; raises SpoolBusy or SpoolUnusable."""
        self._directory = directory
        self._refused = directory / "refused"
        self._max_bytes = max_bytes
        self._max_age_s = max_age_s
        self._mutex = threading.Lock()
        self._unwritten: dict[str, bytes] = {}
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refused.mkdir(mode=0o700, exist_ok=True)
            self._lock = _take(directory / "agent.lock")
        except OSError as error:
            raise SpoolUnusable(
                f"the spool {directory} cannot be used: {error.strerror}; set collector.spool_dir to a directory "
                "that the agent's user may write"
            ) from error
        for leftover in directory.glob("*.tmp"):
            leftover.unlink(missing_ok=True)  # a crash while writing: its rows were never promised to anybody
        self._names = [path.stem for path in _oldest_first(directory)]

    def put(self, name: str, data: bytes) -> str:
        """Keeps a segment; returns "" or one sentence saying why it is only in memory for now."""
        with self._mutex:
            self._names.append(name)
            self._unwritten[name] = data
            problem = self._write_out()
            if len(self._unwritten) > _MOST_IN_MEMORY:
                oldest = next(iter(self._unwritten))
                self._forget(oldest)
                problem += f"; {oldest} had to be dropped"
        return problem

    def oldest(self) -> str | None:
        """Returns the name of the segment to send next."""
        with self._mutex:
            return self._names[0] if self._names else None

    def read(self, name: str) -> bytes | None:
        """Returns a segment's bytes; None where it is gone. What is damaged on disk is moved aside here."""
        with self._mutex:
            data = self._unwritten.get(name)
            if data is None:
                try:
                    data = self._path(name).read_bytes()
                except OSError as error:
                    log.warning("segment=%s cannot be read back: %s", name, error)
                    self._forget(name)
                    return None
        try:
            read_head(data)
        except SegmentError as error:
            self.refuse(name, str(error))
            return None
        return data

    def acknowledge(self, name: str) -> None:
        """Removes a segment that the hub has."""
        with self._mutex:
            self._forget(name)

    def refuse(self, name: str, reason: str) -> None:
        """Moves a segment that can never be delivered aside, with the reason beside it."""
        log.error("segment=%s moved to %s: %s", name, self._refused, reason)
        with self._mutex, contextlib.suppress(OSError):
            target = self._refused / (name + SUFFIX)
            if (data := self._unwritten.get(name)) is not None:
                target.write_bytes(data)
            else:
                self._path(name).replace(target)
            target.with_suffix(".txt").write_text(reason + "\n", encoding="utf-8")
        self.acknowledge(name)

    def trim(self, now_s: float) -> Dropped:
        """Drops the oldest segments beyond the bounds of size and age, refused ones first."""
        dropped = rows = 0
        with self._mutex:
            files = [*_oldest_first(self._refused), *_oldest_first(self._directory)]
            sizes = {}
            for path in files:
                with contextlib.suppress(OSError):
                    sizes[path] = path.stat()
            total = sum(stat.st_size for stat in sizes.values())
            for path, stat in sizes.items():
                if total <= self._max_bytes and now_s - stat.st_mtime <= self._max_age_s:
                    continue
                total -= stat.st_size
                if path.parent == self._refused:
                    path.with_suffix(".txt").unlink(missing_ok=True)
                    path.unlink(missing_ok=True)
                    continue
                rows += _rows_of(path)
                dropped += 1
                self._forget(path.stem)
        return Dropped(dropped, rows)

    def __len__(self) -> int:
        with self._mutex:
            return len(self._names)

    def close(self) -> None:
        """Gives the directory up."""
        self._lock.close()

    def _path(self, name: str) -> Path:
        return self._directory / (name + SUFFIX)

    def _write_out(self) -> str:
        """Writes what is only in memory, oldest first; returns why it could not."""
        for name in list(self._unwritten):
            try:
                _write_durably(self._path(name), self._unwritten[name])
            except OSError as error:
                return f"the spool {self._directory} takes no segment: {error.strerror or error}"
            del self._unwritten[name]
        return ""

    def _forget(self, name: str) -> None:
        self._unwritten.pop(name, None)
        self._path(name).unlink(missing_ok=True)
        with contextlib.suppress(ValueError):
            self._names.remove(name)


def _take(path: Path) -> TextIO:
    lock = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = lock.read(32).strip() or "unknown"
        lock.close()
        raise SpoolBusy(
            f"another agent (PID {owner}) works on the spool {path.parent}: stop it first, or set collector.spool_dir"
        ) from None
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def _write_durably(path: Path, data: bytes) -> None:
    fresh = path.with_suffix(".tmp")
    try:
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _oldest_first(directory: Path) -> list[Path]:
    found = []
    for path in directory.glob("*" + SUFFIX):
        with contextlib.suppress(OSError):
            found.append((path.stat().st_mtime_ns, path.name, path))
    return [path for _, _, path in sorted(found)]


def _rows_of(path: Path) -> int:
    try:
        return read_head(path.read_bytes())[0].rows
    except (OSError, SegmentError):
        return 0
