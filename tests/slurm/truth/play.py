"""Submits the cases, drives their GPUs, does what is to be done to them, and remembers what it saw of Slurm's hooks."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from tests.slurm.running import SlurmCluster
from tests.slurm.truth.case import Act, Case, Doing
from tests.slurm.truth.crew import Crew
from tests.slurm.truth.stage import Stage

_LOOK_S: Final = 0.1
_LONGEST_S: Final = 300
_QUIET_S: Final = 2.0


@dataclass
class Stay:
    """A job on one node, from its Prolog to its Epilog."""

    node: str
    job_id: int
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
    suspended_ms: list[tuple[int, int]] = field(default_factory=list)
    suspended_since_ms: int | None = None

    @property
    def present(self) -> list[Stay]:
        return sorted((stay for stay in self.stays if stay.ended_ms is None), key=lambda stay: stay.node)


class Play:
    """One performance on a cluster that has nothing else to do."""

    def __init__(self, cluster: SlurmCluster, cases: Sequence[Case], stages: Mapping[str, Stage], crew: Crew) -> None:
        self._cluster = cluster
        self._cases = {case.name: case for case in cases}
        self._stages = stages
        self._crew = crew
        self._clients: list[subprocess.Popen[bytes]] = []
        self._dumps: dict[str, int] = self._listed()
        self._pending_acts: list[tuple[Case, Act]] = [(case, act) for case in cases for act in case.acts]
        self._began_ms: dict[str, int] = {}
        self.parts: dict[int, Part] = {}
        self.looks: dict[str, Any] = {}

    def perform(self) -> None:
        """Submits everything and returns when all of it has ended."""
        try:
            for case in self._cases.values():
                self._submit(case)
            self._until_over()
        finally:
            for client in self._clients:
                client.terminate()
                client.communicate(timeout=20)

    def _submit(self, case: Case) -> None:
        names = [self._cluster.nodes[number - 1] for number in case.nodes]
        common = [f"--gres=gpu:{case.gpus}", f"--nodes={case.nodes_a_part}"]
        body = case.body or f"sleep {case.lasts_s}"
        job = [*common, f"--job-name={case.name}", *case.options]
        match case.how:
            case "sbatch":
                self._cluster.submit(case.user, *job, f"--nodelist={','.join(names)}", wrap=body)
            case "het":
                lines = [f"#SBATCH --nodelist={name} {' '.join(common)}" for name in names]
                script = "\n".join(["#!/bin/sh", "\n#SBATCH hetjob\n".join(lines), body, ""])
                self._cluster.submit(case.user, f"--job-name={case.name}", *case.options, script=script)
            case "srun" | "salloc":  # both wait until they have their GPUs
                command = ["--no-shell"] if case.how == "salloc" else ["sh", "-c", body]
                place = f"--nodelist={','.join(names)}"
                self._clients.append(self._cluster.start_as_user(case.user, case.how, *job, place, *command))

    def _until_over(self) -> None:
        deadline_s = time.monotonic() + _LONGEST_S
        quiet_s = time.monotonic()
        while time.monotonic() - quiet_s < _QUIET_S or self._pending_acts:
            if time.monotonic() > deadline_s:
                left = self._cluster.as_root("squeue", "--states=all", "-o", "%i %j %T %R")
                raise TimeoutError(f"not all is over after {_LONGEST_S} s; to do {self._pending_acts}:\n{left}")
            self._see()
            self._drive()
            if self._cluster.as_root("squeue", "-h"):
                quiet_s = time.monotonic()
            time.sleep(_LOOK_S)

    def _listed(self) -> dict[str, int]:
        """Returns when each hook last ran, by the name of its dump: NODE.JOBID.HOOK."""
        names = (path for hook in ("prolog", "epilog") for path in (self._cluster.folder / "hooks").glob(f"*.{hook}"))
        return {path.name: path.stat().st_mtime_ns for path in names}

    def _see(self) -> None:
        listed = self._listed()
        fresh = [(at_ns, name) for name, at_ns in listed.items() if self._dumps.get(name) != at_ns]
        self._dumps = listed
        for at_ns, name in sorted(fresh):
            node, job, hook = name.split(".")
            if hook == "prolog":
                self._begun(node, int(job), at_ns // 1_000_000)
            else:
                self._over(node, int(job), at_ns // 1_000_000)

    def _begun(self, node: str, job_id: int, at_ms: int) -> None:
        told = self._cluster.hook_environment(node, job_id, "prolog") or {}
        part = self.parts.get(job_id) or self._part(job_id)
        if not part.present:
            part.played = 0
        part.stays.append(Stay(node, job_id, tuple(map(int, told["SLURM_JOB_GPUS"].split(","))), at_ms))
        self._began_ms.setdefault(part.case.name, at_ms)

    def _part(self, job_id: int) -> Part:
        # An array's last task has the id of the whole array, so a question for it is answered with all tasks.
        listed = self._cluster.as_root("squeue", "-h", "--states=all", "-j", str(job_id), "-o", "%A %i %j")
        shown, name = next(line.split()[1:] for line in listed.splitlines() if line.split()[0] == str(job_id))
        number = next((int(shown.rpartition(sign)[2]) for sign in "_+" if sign in shown), 0)
        self.parts[job_id] = Part(self._cases[name], number, job_id)
        return self.parts[job_id]

    def _over(self, node: str, job_id: int, at_ms: int) -> None:
        for stay in self.parts[job_id].present:
            if stay.node == node:
                stay.ended_ms = at_ms
                self._stages[node].does(dict.fromkeys(stay.minors, "idle"))

    def _drive(self) -> None:
        for part in self.parts.values():
            stays = part.present
            if len(stays) < part.case.nodes_a_part or part.suspended_since_ms is not None:
                continue
            plan = part.case.plan(part.number)
            since_s = time.time() - stays[-1].begun_ms / 1000
            due = sum(after_s <= since_s for after_s, _ in plan)
            if due > part.played:
                self._do(stays, plan[due - 1][1])
                part.played = due
        for case, act in list(self._pending_acts):
            began_ms = self._began_ms.get(case.name)
            if began_ms is not None and time.time() - began_ms / 1000 >= act.after_s:
                self._pending_acts.remove((case, act))
                self._act(case, act)

    def _do(self, stays: Sequence[Stay], words: str) -> None:
        gpus = [(stay.node, minor) for stay in stays for minor in sorted(stay.minors)]
        given = cast("list[Doing]", words.split())
        each = dict(zip(gpus, given * len(gpus) if len(given) == 1 else given, strict=True))
        for node in {node for node, _ in gpus}:
            self._stages[node].does({minor: doing for (where, minor), doing in each.items() if where == node})

    def _act(self, case: Case, act: Act) -> None:
        part = next(part for part in self.parts.values() if part.case is case)
        does: dict[str, Callable[[Part], None]] = {
            "cancel": lambda part: self._tell(case.user, "scancel", part),
            "look": lambda part: self.looks.update({case.name: self._crew.hub.get("findings?range=24h")["items"]}),
        }
        does[act.what](part)

    def _tell(self, user: str, command: str, part: Part) -> None:
        self._cluster.as_user(user, *command.split(), str(part.job_id))
