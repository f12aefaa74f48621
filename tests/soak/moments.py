"""What each worker of a process is at, in a file that outlives the process: a kill finds them all somewhere."""

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

WORKERS: Final = ("start", "inbox", "ingest", "upkeep")
_BYTES: Final = 64


class Moments:
    """One line a worker. The kernel keeps what a killed process wrote."""

    def __init__(self, path: Path) -> None:
        """Open the file for reading and writing, made where it is not there."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(fd, _BYTES * len(WORKERS))
            self._lines = mmap.mmap(fd, _BYTES * len(WORKERS))
        finally:
            os.close(fd)

    def step_of(self, worker: str) -> Callable[[str], None]:
        """Return what notes the step that a worker comes to; the empty name is for one that waits."""
        start = WORKERS.index(worker) * _BYTES

        def note(step: str) -> None:
            self._lines[start : start + _BYTES] = step.encode().ljust(_BYTES, b"\0")

        return note

    def read(self) -> dict[str, str]:
        """Return what each worker is at, or was when its process ended; those that wait are left out."""
        lines = (self._lines[at : at + _BYTES] for at in range(0, len(self._lines), _BYTES))
        steps = (line.rstrip(b"\0").decode(errors="replace") for line in lines)
        return {worker: step for worker, step in zip(WORKERS, steps, strict=True) if step}

    def clear(self) -> None:
        """Forget what an earlier process was at."""
        self._lines[:] = bytes(len(self._lines))

    def close(self) -> None:
        """Close the file."""
        self._lines.close()
