"""Whether a job still lives on this node, from Slurm's control groups; readable without privilege.

    v1   CONTROLLER/slurm[_NODE]/uid_U/job_J/step_S/...
    v2   system.slice/[NODE_]slurmstepd.scope/job_J/step_S/...

_NODE is there where Slurm was built with MULTIPLE_SLURMD (Debian); another node's groups are then visible too, empty.
A node that crashed leaves the folders of its jobs behind with no process in them, so a folder alone is no job. A job
need not have processes either: an allocation without a step has none, except with PrologFlags=Contain, which keeps
an external step in every job.
"""

import re
from collections.abc import Iterator
from enum import Enum, auto
from pathlib import Path
from typing import Final, NamedTuple

from collector.proc import PROC, moment_ms, started

_CONTROLLERS: Final = ("freezer", "memory", "devices", "cpuset", "cpu,cpuacct", "cpu", "systemd")
_EXTERNAL_STEP: Final = "step_extern"
_JOB: Final = re.compile(r"/(?:slurm[^/]*|[^/]*slurmstepd\.scope)/(?:uid_\d+/)?job_(\d+)(?:/|$)")


class Life(Enum):
    """What the control groups say of a job."""

    ALIVE = auto()  # it has processes
    EMPTY = auto()  # its folders are there and nothing runs in them
    ABSENT = auto()  # there is no folder of it


class Step(NamedTuple):
    """A step of a job that has, or had, processes: ``name`` is batch, extern, interactive or a number."""

    job_id: str
    name: str
    folder: Path


class ControlGroups:
    """The control groups of one node's Slurm."""

    def __init__(self, root: Path, node: str, *, keeps_external_step: bool = False) -> None:
        """``root`` is where the cgroup file system is mounted; ``keeps_external_step``: slurm.conf says so."""
        self._root = root
        self._names = ("slurm", f"slurm_{node}")
        self._scopes = ("slurmstepd.scope", f"{node}_slurmstepd.scope")
        self._keeps_external_step = keeps_external_step
        self._seen_external_step = False

    @property
    def contained(self) -> bool:
        """Whether every job has processes for as long as it lasts: by slurm.conf, or since an external step was seen.

        Where no folder of Slurm's is to be seen at all (in a container), slurm.conf proves nothing.
        """
        return self._seen_external_step or (self._keeps_external_step and any(self._bases()))

    def life_of(self, job_id: str) -> Life:
        """Returns what is known of a job now."""
        folders = list(self._folders(job_id))
        if not folders:
            return Life.ABSENT
        if not self._seen_external_step:
            self._seen_external_step = any((folder / _EXTERNAL_STEP).is_dir() for folder in folders)
        return Life.ALIVE if any(map(_has_processes, folders)) else Life.EMPTY

    def steps(self) -> list[Step]:
        """Returns the steps of all jobs, each once."""
        found: dict[tuple[str, str], Step] = {}
        for job in self._folders("*"):
            for folder in job.glob("step_*"):
                step = Step(job.name.removeprefix("job_"), folder.name.removeprefix("step_"), folder)
                found.setdefault(step[:2], step)
        return list(found.values())

    def processes(self, step: Step) -> set[int]:
        """Returns the ids of a step's processes, Slurm's own among them."""
        return _processes(step.folder)

    def began_ms(self, job_id: str, proc: Path = PROC) -> int | None:
        """Returns when the oldest process of a job began; None where it has none."""
        pids = {pid for folder in self._folders(job_id) for pid in _processes(folder)}
        ticks = [began for pid in pids if (began := started(pid, proc)) is not None]
        return moment_ms(min(ticks), proc) if ticks else None

    def _folders(self, job_id: str) -> Iterator[Path]:
        for base in self._bases():
            yield from base.glob(f"job_{job_id}")
            yield from base.glob(f"uid_*/job_{job_id}")

    def _bases(self) -> Iterator[Path]:
        """Yields Slurm's own folders of this node that are there."""
        v1 = (self._root / controller / name for controller in _CONTROLLERS for name in self._names)
        tops = (self._root, self._root / "unified")
        v2 = (top / "system.slice" / scope for top in tops for scope in self._scopes)
        yield from (folder for folder in (*v1, *v2) if folder.is_dir())


def job_of(pid: int, proc: Path = PROC) -> str | None:
    """Returns the job whose control group a process is in; None where it is in none, has ended or hides."""
    try:
        groups = (proc / str(pid) / "cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = _JOB.search(groups)
    return None if found is None else found.group(1)


def _has_processes(folder: Path) -> bool:
    return any(map(_read, folder.rglob("cgroup.procs")))


def _processes(folder: Path) -> set[int]:
    return {int(word) for file in folder.rglob("cgroup.procs") for word in _read(file).split()}


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes().strip()
    except OSError:
        return b""
