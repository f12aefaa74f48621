"""What can go wrong with the store, each as one sentence with the next step. duckdb.Error never leaves the package."""

from pathlib import Path


class StoreError(Exception):
    """The store cannot do what was asked; the message is one sentence for people, with the next step."""


class StoreBusy(StoreError):
    """Another process holds the data directory. ``pid`` is None where it cannot be told."""

    def __init__(self, directory: Path, pid: int | None) -> None:
        owner = f"process {pid}" if pid is not None else "another process"
        # The synthetic cluster's store lies one further down than the hub's socket; a fill or a reader has none.
        home = next((each for each in (directory, directory.parent) if (each / "hub.sock").exists()), None)
        ask = f", or ask its hub with --data {home}" if home else ""
        super().__init__(f"The data directory {directory} is in use by {owner}; stop it first{ask}.")
        self.directory = directory
        self.pid = pid


class QueryTimeout(StoreError):
    """A query ran past its limit and was stopped."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"The query was stopped after {limit_s:g} s; choose a shorter period or a narrower filter.")
        self.limit_s = limit_s


class SchemaTooNew(StoreError):
    """The file was written by a later version of GPU Ledger."""

    def __init__(self, file: Path, found: int, known: int) -> None:
        super().__init__(
            f"{file} has schema version {found} and this GPU Ledger knows {known}; install the version that wrote it."
        )
        self.found = found
        self.known = known


class Unstorable(StoreError):
    """A value does not fit its column or breaks a rule of its table."""


class DiskFull(StoreError):
    """No room for what was to be written; nothing was lost that had been acknowledged."""

    def __init__(self, directory: Path, detail: str) -> None:
        super().__init__(
            f"No room to write in {directory} ({detail}); free some space there, nodes will deliver again."
        )
        self.directory = directory


class StoreStopped(StoreError):
    """DuckDB gave the file up after a checkpoint failed, as a rule on a full disk; a new process finds it whole."""

    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"The database in {directory} stopped after a write failed; free some space there and start the hub again, "
            "nothing acknowledged is lost."
        )
        self.directory = directory


class BacklogFull(StoreError):
    """More segments wait for ingest than the site allows."""

    def __init__(self, waiting_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"{waiting_bytes >> 20} MiB of segments wait to be stored and the limit is {limit_bytes >> 20} MiB; "
            "nodes will deliver again, see the hub's Health page for what holds it up."
        )


class DeliveriesRefused(StoreError):
    """Nodes deliver what cannot be taken; the message says which and why."""


class Overloaded(StoreError):
    """More is being delivered at one moment than memory is set aside for."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(
            f"More is being delivered at once than the {limit_bytes >> 20} MiB of memory set aside for it; "
            "nodes will deliver again."
        )
