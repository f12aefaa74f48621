"""Append-only files of the inbox.

A record is ``GPIN | length of name u16 | length of data u32 | CRC-32 of both u32 | name | data``, little-endian.
"""

import contextlib
import logging
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

_MAGIC: Final = b"GPIN"
_RECORD: Final = struct.Struct("<4sHII")

log = logging.getLogger(__name__)

Step = Callable[[str], None]
"""Hears the name of each step before it is done: a test ends the process there."""


class Waiting(msgspec.Struct, frozen=True):
    """Where an acknowledged segment lies."""

    name: str
    file: Path
    offset: int
    length: int


class LogFile:
    """One append-only file. After a write that failed it must not be used again."""

    def __init__(self, path: Path, step: Step = lambda _: None) -> None:
        self.path = path
        self.size = 0
        self._step = step
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
        self._step("before the write")
        _write_all(self._fd, b"".join(pieces))
        self._step("before the sync")
        os.fdatasync(self._fd)
        self._step("after the sync")
        self.size = offset
        return added

    def close(self) -> None:
        os.close(self._fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read(taken: Sequence[Waiting]) -> Iterator[tuple[str, bytes]]:
    """Yields name and data of each record."""
    with contextlib.ExitStack() as stack:
        open_files: dict[Path, int] = {}
        for waiting in taken:
            if waiting.file not in open_files:
                fd = os.open(waiting.file, os.O_RDONLY | os.O_CLOEXEC)
                stack.callback(os.close, fd)
                open_files[waiting.file] = fd
            yield waiting.name, os.pread(open_files[waiting.file], waiting.length, waiting.offset)


def scan(path: Path) -> Iterator[Waiting]:
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
