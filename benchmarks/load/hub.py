"""The hub under load: `gpuledger serve` as a child process with a data directory of its own, asked over HTTP."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from pyarrow import parquet

from benchmarks.load.watched import Files, Watched
from benchmarks.peers.child import Peer, PeerFailed
from store import tokens
from store.database import Database

STOP_S: Final = 120.0


class Hub(Peer):
    """A hub that takes segments with ``token`` into ``data``, and says afterwards what each of its stages took.

    Args:
        config: its configuration file, TOML.
        seal_every_s: how often it looks for rows to seal; None leaves that as it is.
    """

    program = sys.executable
    package = "python3"
    ready = "/healthz"

    def __init__(self, config: str = "", seal_every_s: float | None = None) -> None:
        self._config = config
        self._seal_every_s = seal_every_s
        self.token = ""

    @property
    def data(self) -> Path:
        """The data directory; nobody else may open it before :meth:`stop`."""
        return self.folder / "data"

    def arguments(self) -> Sequence[str]:
        with Database.open(self.data) as database, database.cursor() as cursor:
            self.token = tokens.create(cursor, "load", time.time_ns() // 1_000_000)
        config = self.folder / "config.toml"
        config.write_text(self._config, encoding="utf-8")
        watched = ["-m", "benchmarks.load.watched", str(self.folder), str(self._seal_every_s or 0)]
        return [*watched, "serve", "--config", str(config), "--data", str(self.data), "--port", str(self.port)]

    @property
    def _watch(self) -> Files:
        return Files(self.folder)

    def main_thread_s(self) -> float:
        """Return the CPU time of the thread that speaks HTTP."""
        text = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/stat").read_text(encoding="ascii")
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def settled(self, segments: int) -> bool:
        """Return whether so many segments have been stored and every hour that they touched has been summed."""
        return self._watch.settled.exists() and self.watched().segments >= segments

    def watched(self) -> Watched:
        """Return what it was seen to do up to when nothing waited any more."""
        return msgspec.json.decode(self._watch.settled.read_bytes(), type=Watched)

    def sealed_rows(self) -> int:
        """Return the rows of all sealed files, listed or about to be."""
        files = (self.data / "raw").rglob("*.parquet")
        return sum(parquet.read_metadata(file).num_rows for file in files)

    def stop(self) -> Watched:
        """Ask it to end as a service manager does; returns what it was seen to do. Its data may be opened then."""
        self._disconnect()
        self._process.terminate()
        self._process.wait(STOP_S)
        if self._process.returncode or not self._watch.end.exists():
            text = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
            raise PeerFailed(f"the hub ended with {self._process.returncode}: {text[-500:]}")
        return msgspec.json.decode(self._watch.end.read_bytes(), type=Watched)
