"""What the agent must know again after a restart: idle memory levels since boot, open sessions, jobs that hold GPUs."""

import logging
from pathlib import Path

import msgspec

log = logging.getLogger(__name__)


class OpenSession(msgspec.Struct):
    """A session that lasts; by UUID, since positions are the agent's own."""

    uid: int
    uuid: str
    gpu: str  # as it stands in the session's id
    start_ms: int
    seen_ms: int
    name: str = ""
    shared: bool = False


class OpenHold(msgspec.Struct):
    """A job that holds GPUs of this node; by UUID, since positions are the agent's own."""

    name: str  # of its drop-file
    cluster: str
    job_id: str
    restart: int
    start_ms: int
    seen_ms: int  # the last time it was known to live
    uuids: list[str] = []


class FoundHold(msgspec.Struct):
    """A job that holds GPUs of this node and has no drop-file; by UUID, since positions are the agent's own."""

    job_id: str
    start_ms: int
    seen_ms: int  # the last time it was known to live
    source: str
    uid: int | None = None
    uuids: list[str] = []


class ListedGpu(msgspec.Struct, frozen=True):
    """A place in Slurm's list of this node's GPUs: the minor number of its device file, or a MIG instance's UUID."""

    minor: int | None
    uuid: str = ""


class KeptList(msgspec.Struct, frozen=True):
    """Slurm's list as it was when a slurmd began; ``slurmd`` names that process, ``doubt`` why it may be another."""

    slurmd: str
    source: str
    gpus: tuple[ListedGpu, ...]
    doubt: str = ""
    shares: bool = False  # whether shards or MPS of the GPUs are given away as well


class Carryover(msgspec.Struct):
    """The file's content. ``floors_mib`` hold for one boot of the node: ``boot`` is the kernel's boot id."""

    boot: str = ""
    floors_mib: dict[str, int] = {}
    sessions: list[OpenSession] = []
    holds: list[OpenHold] = []
    contained: bool = False  # whether Slurm keeps an external step in every job here (PrologFlags=Contain)
    gpu_list: KeptList | None = None
    found: list[FoundHold] = []


def kernel_boot_id(path: Path = Path("/proc/sys/kernel/random/boot_id")) -> str:
    """Returns the id of this boot of the node; empty where the kernel does not tell."""
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def load(path: Path, boot: str) -> Carryover:
    """Returns what was saved; nothing where the file is missing or damaged, and no idle levels of another boot."""
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=Carryover)
    except FileNotFoundError:
        return Carryover(boot=boot)
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("file=%s unreadable, starting without it: %s", path, error)
        return Carryover(boot=boot)
    if kept.boot != boot:
        kept.boot, kept.floors_mib = boot, {}
    return kept


def save(path: Path, carryover: Carryover) -> None:
    """Writes the file in one step. It is not worth an fsync: without it the next start knows a little less."""
    fresh = path.with_suffix(".tmp")
    try:
        fresh.write_bytes(msgspec.json.encode(carryover))
        fresh.replace(path)
    except OSError as error:
        log.warning("file=%s not saved: %s", path, error)
