"""How far accounting has been read, kept beside the spool.

A position is written only when the runs read up to it lie in the spool: what is still in memory would be lost with the
daemon. Until then the file holds an older position, and a restart reads the stretch in between again.
"""

import logging
import os
from collections import deque
from pathlib import Path

import msgspec

log = logging.getLogger(__name__)


class OpenRun(msgspec.Struct, frozen=True):
    """A run that had no end when it was last read."""

    cluster: str
    db_index: int
    job_id_raw: str
    start_s: int


class Position(msgspec.Struct, frozen=True):
    """What the next reading begins with."""

    read_to_s: int | None = None  # what had ended by then has been asked for; None: nothing yet
    tracks_gpus: bool = False  # whether any run was ever listed with GPUs
    open_runs: tuple[OpenRun, ...] = ()


class PositionFile:
    """The position on disk and those that wait until their runs are safe."""

    def __init__(self, path: Path, safe_after_s: float) -> None:
        """``safe_after_s`` is how long it may take until what was reported lies in the spool."""
        self._path = path
        self._safe_after_s = safe_after_s
        self._waiting: deque[tuple[float, Position]] = deque()

    def load(self) -> Position:
        """Returns the position on disk; an empty one where there is none or it is damaged."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Position)
        except FileNotFoundError:
            return Position()
        except (OSError, msgspec.MsgspecError) as error:
            log.warning("file=%s unreadable, accounting is read anew: %s", self._path, error)
            return Position()

    def reached(self, position: Position, steady_s: float) -> None:
        """Notes a position whose runs were reported at ``steady_s``."""
        self._waiting.append((steady_s, position))

    def save_what_is_safe(self, steady_s: float) -> None:
        """Writes the newest position whose runs lie in the spool by now."""
        safe: Position | None = None
        while self._waiting and steady_s - self._waiting[0][0] >= self._safe_after_s:
            safe = self._waiting.popleft()[1]
        if safe is None:
            return
        fresh = self._path.with_suffix(".tmp")
        try:
            with fresh.open("wb") as file:
                file.write(msgspec.json.encode(safe))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
        except OSError as error:
            log.warning("file=%s not saved, a restart reads accounting again from before: %s", self._path, error)
