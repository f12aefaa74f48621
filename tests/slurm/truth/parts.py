"""The jobs that the cases have become, as Slurm's hooks told of them: which GPUs of which node, from when to when."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.slurm.running import SlurmCluster
from tests.slurm.truth.case import Case
from tests.slurm.truth.stage import Stage


@dataclass
class Stay:
    """A job on one node, from its Prolog to its Epilog."""

    node: str
    minors: tuple[int, ...]
    begun_ms: int
    ended_ms: int | None = None


@dataclass
class Part:
    """What is known of a task, a component, or a job that has neither."""

    case: Case
    number: int
    job_id: int
    stays: list[Stay] = field(default_factory=list)
    played: int = 0  # steps of the plan that were begun in this execution
    suspended: list[tuple[int, int | None]] = field(default_factory=list)  # from and to, milliseconds

    @property
    def present(self) -> list[Stay]:
        return sorted((stay for stay in self.stays if stay.ended_ms is None), key=lambda stay: stay.node)

    @property
    def is_suspended(self) -> bool:
        return bool(self.suspended) and self.suspended[-1][1] is None


class Parts:
    """Looks at the dumps of the cluster's own hooks: NODE.JOBID.HOOK, written anew at each execution."""

    def __init__(self, cluster: SlurmCluster, cases: Mapping[str, Case], stages: Mapping[str, Stage]) -> None:
        self._cluster = cluster
        self._cases = cases
        self._stages = stages
        self._dumps = self._listed()
        self.by_job: dict[int, Part] = {}

    def look(self) -> None:
        """Takes in what the hooks have been told since the last look."""
        listed = self._listed()
        fresh = [(at_ns, name) for name, at_ns in listed.items() if self._dumps.get(name) != at_ns]
        self._dumps = listed
        for at_ns, name in sorted(fresh):
            node, job, hook = name.split(".")
            if hook == "prolog":
                self._begun(node, int(job), at_ns // 1_000_000)
            else:
                self._over(node, int(job), at_ns // 1_000_000)

    def first(self, case: Case) -> Part | None:
        """Returns the part of a case that began first, once one has."""
        return next((part for part in self.by_job.values() if part.case is case), None)

    def node_gone(self, node: str) -> None:
        """Ends what is on a node: no Epilog will."""
        for job_id in self.by_job:
            self._over(node, job_id, round(time.time() * 1000))

    def _listed(self) -> dict[str, int]:
        folder = self._cluster.folder / "hooks"
        dumps = [path for hook in ("prolog", "epilog") for path in folder.glob(f"*.{hook}")]
        return {path.name: path.stat().st_mtime_ns for path in dumps}

    def _begun(self, node: str, job_id: int, at_ms: int) -> None:
        told = self._cluster.hook_environment(node, job_id, "prolog") or {}
        part = self.by_job.get(job_id) or self._part(job_id)
        if not part.present:
            part.played = 0
        part.stays.append(Stay(node, tuple(map(int, told["SLURM_JOB_GPUS"].split(","))), at_ms))

    def _part(self, job_id: int) -> Part:
        # An array's last task has the id of the whole array, so a question for it is answered with all tasks.
        listed = self._cluster.as_root("squeue", "-h", "--states=all", "-j", str(job_id), "-o", "%A %i %j")
        shown, name = next(line.split()[1:] for line in listed.splitlines() if line.split()[0] == str(job_id))
        number = next((int(shown.rpartition(sign)[2]) for sign in "_+" if sign in shown), 0)
        self.by_job[job_id] = Part(self._cases[name], number, job_id)
        return self.by_job[job_id]

    def _over(self, node: str, job_id: int, at_ms: int) -> None:
        for stay in self.by_job[job_id].present:
            if stay.node == node:
                stay.ended_ms = at_ms
                self._stages[node].does(dict.fromkeys(stay.minors, "idle"))
