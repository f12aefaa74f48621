"""What a cluster is: the shape that was asked for, what this machine gave it, and its state folder."""

import dataclasses
import fcntl
import json
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.slurm.cluster import ClusterError
from tests.slurm.cluster.processes import Processes

MARK = "this-is-a-slurm-test-cluster"
SERVICES = ("munged", "mariadb", "slurmdbd", "slurmctld")
# What clusters on one machine share: the lock for choosing ports and making users, and who uses which user.
MACHINE_FOLDER = Path("/run/lock/slurm-test-cluster")


@dataclass(frozen=True, slots=True)
class Shape:
    """What was asked for; a cluster keeps its shape until it is removed."""

    nodes: int = 3
    gpus: int = 4
    gpu_type: str = "a100"
    cpus: int = 16
    memory_mib: int = 64000
    prefix: str = "n"
    name: str = "testclu"
    isolation: Literal["auto", "namespaces", "none"] = "auto"
    gather: Literal["linux", "cgroup"] = "linux"
    gather_freq_s: int = 1
    exclusive_partition: bool = False
    constrain_devices: bool = True
    conf: tuple[str, ...] = ()

    @property
    def node_names(self) -> list[str]:
        return [f"{self.prefix}{number}" for number in range(1, self.nodes + 1)]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the machine gave it, found once when the cluster was made."""

    isolation: Literal["namespaces", "none"]
    cgroup: Literal["v1", "none"]
    base_port: int
    slurm_version: tuple[int, int, int]
    device_major: int
    host: str
    database_password: str


class Cluster:
    """One cluster on disk: its paths, its shape once made, and its processes."""

    def __init__(self, folder: Path) -> None:
        """Read what the folder holds; nothing is started or written."""
        self.folder = folder.absolute()
        self.made: tuple[Shape, Surroundings] | None = None
        if self._file.exists():
            self.made = _decode(json.loads(self._file.read_text()))
        self.processes = Processes(self.folder / "run", self.folder / "log", self.environment)

    def __truediv__(self, part: str) -> Path:
        return self.folder / part

    @property
    def exists(self) -> bool:
        return (self / MARK).exists()

    @property
    def shape(self) -> Shape:
        return self._require()[0]

    @property
    def surroundings(self) -> Surroundings:
        return self._require()[1]

    @property
    def process_names(self) -> list[str]:
        return [*SERVICES, *self.shape.node_names]

    @property
    def environment(self) -> dict[str, str]:
        """Small and fixed: sbatch hands the submitter's whole environment to the job."""
        return {
            "SLURM_CONF": str(self / "etc/slurm.conf"),
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "HOME": "/root",
            "SHELL": "/bin/bash",
            "TERM": "dumb",
        }

    def save(self, shape: Shape, surroundings: Surroundings) -> None:
        """Keep what was made; from here on the folder is a cluster."""
        content = {"shape": dataclasses.asdict(shape), "surroundings": dataclasses.asdict(surroundings)}
        write_file(self._file, json.dumps(content, indent=1), 0o600)
        self.made = (shape, surroundings)

    @property
    def _file(self) -> Path:
        return self / "cluster.json"

    def _require(self) -> tuple[Shape, Surroundings]:
        if self.made is None:
            raise ClusterError(f"There is no cluster at {self.folder}: make one with `up --state-dir {self.folder}`.")
        return self.made


@contextmanager
def machine_lock() -> Iterator[None]:
    """Let one operation at a time make or end clusters on this machine: they share its ports and users."""
    MACHINE_FOLDER.mkdir(parents=True, exist_ok=True)
    with (MACHINE_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_folder(path: Path, mode: int = 0o755, owner: str | None = None) -> None:
    """Make a folder, or give an existing one this mode and owner."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(mode)
    _give(path, owner)


def write_file(path: Path, text: str, mode: int = 0o644, owner: str | None = None) -> None:
    """Write a file in one step, never readable with more rights than mode."""
    fresh = path.with_name(path.name + ".new")
    with os.fdopen(os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
    fresh.chmod(mode)
    _give(fresh, owner)
    fresh.replace(path)


def _give(path: Path, owner: str | None) -> None:
    if owner:
        account = pwd.getpwnam(owner)
        os.chown(path, account.pw_uid, account.pw_gid)


def _decode(content: dict[str, dict[str, Any]]) -> tuple[Shape, Surroundings]:
    shape, found = content["shape"], content["surroundings"]
    return (
        Shape(**{**shape, "conf": tuple(shape["conf"])}),
        Surroundings(**{**found, "slurm_version": tuple(found["slurm_version"])}),
    )
