"""CPU time and memory of a job on this node, as its control group counts them; readable without privilege.

    v1   cpuacct/slurm[_NODE]/uid_U/job_J/cpuacct.usage   nanoseconds; there only with jobacct_gather/cgroup
         memory/slurm[_NODE]/uid_U/job_J/memory.stat      total_rss
    v2   system.slice/[NODE_]slurmstepd.scope/job_J/cpu.stat, memory.stat   usage_usec, anon

The group of a job counts what all its steps did, those that have ended as well. Page cache is left out of the memory:
the kernel takes it back when somebody needs it. Version 2 is read as documented; it has not been met on a live cluster.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_CPUACCT: Final = ("cpuacct", "cpu,cpuacct")
_MIB: Final = 1 << 20
_NS_PER_US: Final = 1000


class Usage(NamedTuple):
    """``cpu_ns`` since the group was made; ``mem_mib`` is None where memory is not counted."""

    cpu_ns: int
    mem_mib: int | None


class _Group(NamedTuple):
    """Where one job is counted: files, and the key of the line in each; without a key the file is the number."""

    cpu: Path
    cpu_key: str | None
    memory: Path
    memory_key: str

    def cpu_ns(self) -> int:
        if self.cpu_key is None:
            return int(self.cpu.read_bytes())
        return _line(self.cpu, self.cpu_key) * _NS_PER_US

    def mem_mib(self) -> int | None:
        try:
            return _line(self.memory, self.memory_key) // _MIB
        except (OSError, ValueError):
            return None


class JobUsage:
    """The groups of one node's jobs. A group is looked for until it is there; then its files are read alone."""

    def __init__(self, root: Path, node: str) -> None:
        """``root`` is where the cgroup file system is mounted."""
        self._root = root
        self._names = ("slurm", f"slurm_{node}")
        self._scopes = ("slurmstepd.scope", f"{node}_slurmstepd.scope")
        self._found: dict[str, _Group] = {}

    def of(self, job_id: str) -> Usage | None:
        """Returns what a job has used until now; None where no group of it counts that."""
        group = self._found.get(job_id) or next(self._groups(job_id), None)
        if group is None:
            return None
        try:
            cpu_ns = group.cpu_ns()
        except (OSError, ValueError):  # the job has ended, and its group with it
            self._found.pop(job_id, None)
            return None
        self._found[job_id] = group
        return Usage(cpu_ns, group.mem_mib())

    def forget(self, job_id: str) -> None:
        """Lets go of a job that holds nothing any more."""
        self._found.pop(job_id, None)

    def _groups(self, job_id: str) -> Iterator[_Group]:
        for controller in _CPUACCT:
            for name in self._names:
                for folder in (self._root / controller / name).glob(f"uid_*/job_{job_id}"):
                    memory = self._root / "memory" / name / folder.parent.name / folder.name / "memory.stat"
                    yield _Group(folder / "cpuacct.usage", None, memory, "total_rss")
        for root in (self._root, self._root / "unified"):
            for scope in self._scopes:
                folder = root / "system.slice" / scope / f"job_{job_id}"
                if folder.is_dir():
                    yield _Group(folder / "cpu.stat", "usage_usec", folder / "memory.stat", "anon")


def _line(file: Path, key: str) -> int:
    """Returns the number of a line ``key number``; raises ValueError where there is none."""
    for line in file.read_text(encoding="ascii", errors="replace").splitlines():
        name, _, number = line.partition(" ")
        if name == key:
            return int(number)
    raise ValueError(f"{file} has no line {key}")
