"""Prometheus: values by scrape, or written into blocks by promtool, which keeps them as a running one would."""

import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec

from benchmarks.peers.child import Peer, PeerFailed, PeerMissing, installed, version
from benchmarks.peers.series import Series, open_metrics


class Prometheus(Peer):
    """A Prometheus that scrapes pages on loopback.

    Args:
        pages: address (host:port) and path of each page by the name of its target.
        interval_s: time between two scrapes of a page.
    """

    program = "prometheus"
    package = "prometheus"
    ready = "/-/ready"

    def __init__(self, pages: Mapping[str, tuple[str, str]], interval_s: float) -> None:
        self._pages = pages
        self._interval_s = interval_s

    def arguments(self) -> Sequence[str]:
        interval = f"{round(self._interval_s * 1000)}ms"
        targets = [
            {"targets": [address], "labels": {"__metrics_path__": path, "instance": name}}
            for name, (address, path) in self._pages.items()
        ]
        config = {
            "global": {"scrape_interval": interval, "scrape_timeout": interval},
            "scrape_configs": [{"job_name": "gpus", "static_configs": targets}],
        }
        file = self.folder / "prometheus.yml"
        file.write_bytes(msgspec.json.encode(config))  # JSON is YAML
        return [
            f"--config.file={file}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--log.level=error",
        ]

    def samples(self) -> int:
        """Returns how many values it has taken since it was started, its own of each scrape (up, ...) included."""
        return int(self.counter("prometheus_tsdb_head_samples_appended_total"))


class Blocks(msgspec.Struct, frozen=True, kw_only=True):
    """What promtool made of values: bytes of the chunks, bytes of the index, CPU seconds that it took."""

    chunk_bytes: int
    index_bytes: int
    cpu_s: float

    @classmethod
    def of(cls, series: Iterable[Series]) -> Self:
        """Writes the values into blocks of a day, as Prometheus has them after compaction, and measures these.

        Series of one metric must follow each other. Raises PeerMissing and PeerFailed.
        """
        if not installed("promtool"):
            raise PeerMissing("promtool", Prometheus.package)
        folder = Path(tempfile.mkdtemp(prefix="gpuledger-promtool-"))
        try:
            text = folder / "text"
            with text.open("w", encoding="ascii") as file:
                file.writelines(open_metrics(series))
            before = _children_cpu_s()
            command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=24h"]
            done = subprocess.run([*command, text, folder / "data"], capture_output=True, check=False)
            if done.returncode:
                raise PeerFailed(f"promtool refused the values: {done.stderr[-300:]!r}")
            cpu_s = _children_cpu_s() - before
            chunks = sum(path.stat().st_size for path in (folder / "data").glob("*/chunks/*"))
            index = sum(path.stat().st_size for path in (folder / "data").glob("*/index"))
            return cls(chunk_bytes=chunks, index_bytes=index, cpu_s=cpu_s)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def prometheus_version() -> str:
    """Returns the version of Debian's package."""
    return version(Prometheus.package)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
