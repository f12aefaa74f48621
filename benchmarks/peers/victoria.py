"""VictoriaMetrics: values by POST, as its own JSON lines or as Influx lines, and the size of what it keeps of them."""

from collections.abc import Sequence

from benchmarks.peers.child import Peer, size, version


class VictoriaMetrics(Peer):
    """A VictoriaMetrics of one node that forgets nothing."""

    program = "victoria-metrics"
    package = "victoria-metrics"
    ready = "/health"

    def arguments(self) -> Sequence[str]:
        return [
            f"-storageDataPath={self.folder / 'data'}",
            f"-httpListenAddr=127.0.0.1:{self.port}",
            "-retentionPeriod=100y",
            "-memory.allowedBytes=1GiB",
        ]

    def import_json(self, lines: bytes) -> None:
        """Takes lines of series.json_lines."""
        self.ask("/api/v1/import", lines)

    def write_influx(self, lines: bytes) -> None:
        """Takes lines of series.influx_lines; fields become metrics named MEASUREMENT_FIELD."""
        self.ask("/write", lines)

    def flush(self) -> None:
        """Makes what came readable, and puts it on disk."""
        self.ask("/internal/force_flush")

    def settle(self) -> None:
        """Merges all parts into as few and as small ones as it can."""
        self.flush()
        self.ask("/internal/force_merge")
        self.until(lambda: self.counter("vm_active_force_merges") == 0, 300, "merge its parts")

    def samples(self) -> int:
        """Returns how many values came in since it was started."""
        return int(self.counter("vm_rows_inserted_total"))

    def data_bytes(self) -> int:
        """Returns the size of the values, without the index of their names."""
        return size(self.folder / "data" / "data")

    def index_bytes(self) -> int:
        """Returns the size of the index of names and labels."""
        return size(self.folder / "data" / "indexdb")


def victoria_version() -> str:
    """Returns the version of Debian's package."""
    return version(VictoriaMetrics.package)
