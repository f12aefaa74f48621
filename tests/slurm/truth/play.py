"""Submits the cases, drives their GPUs by their plans, and goes on until all of it is over."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Final, cast

from tests.slurm.running import SlurmCluster
from tests.slurm.truth.acts import Acts
from tests.slurm.truth.case import Case, Doing
from tests.slurm.truth.crew import Crew
from tests.slurm.truth.parts import Parts, Stay
from tests.slurm.truth.stage import Stage

_LOOK_S: Final = 0.1
_LONGEST_S: Final = 300
_QUIET_S: Final = 2.0


class Play:
    """One performance on a cluster that has nothing else to do."""

    def __init__(self, cluster: SlurmCluster, cases: Sequence[Case], stages: Mapping[str, Stage], crew: Crew) -> None:
        self._cluster = cluster
        self._cases = {case.name: case for case in cases}
        self._stages = stages
        self._clients: list[subprocess.Popen[bytes]] = []
        self.parts = Parts(cluster, self._cases, stages)
        self.acts = Acts(cluster, self._cases, self.parts, stages, crew)

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
        common = [f"--nodes={case.nodes_a_part}", *([f"--gres=gpu:{case.gpus}"] if case.gpus else [])]
        body = case.body or f"sleep {case.lasts_s}"
        named = [f"--job-name={case.name}", *case.options]
        if case.how == "het":
            lines = [f"#SBATCH --nodelist={name} {' '.join(common)}\n" for name in names]
            script = "#!/bin/sh\n" + "#SBATCH hetjob\n".join(lines) + body + "\n"
            self._cluster.submit(case.user, *named, script=script)
            return
        job = [*named, *common, f"--nodelist={','.join(names)}"]
        if case.how == "sbatch":
            self._cluster.submit(case.user, *job, wrap=body)
        else:  # both wait until they have their GPUs
            command = ["--no-shell"] if case.how == "salloc" else ["sh", "-c", body]
            self._clients.append(self._cluster.start_as_user(case.user, case.how, *job, *command))

    def _until_over(self) -> None:
        deadline_s = time.monotonic() + _LONGEST_S
        quiet_s = time.monotonic()
        while time.monotonic() - quiet_s < _QUIET_S or self.acts.left:
            if time.monotonic() > deadline_s:
                queue = self._cluster.as_root("squeue", "--states=all", "-o", "%i %j %T %R")
                raise TimeoutError(f"not all is over after {_LONGEST_S} s; to do {self.acts.left}:\n{queue}")
            self.parts.look()
            self._drive()
            self.acts.do_due()
            if self._cluster.as_root("squeue", "-h"):
                quiet_s = time.monotonic()
            time.sleep(_LOOK_S)

    def _drive(self) -> None:
        for part in self.parts.by_job.values():
            stays = part.present
            if len(stays) < part.case.nodes_a_part or part.is_suspended:
                continue
            plan = part.case.plan(part.number)
            since_s = time.time() - stays[-1].begun_ms / 1000
            due = sum(after_s <= since_s for after_s, _ in plan)
            if due > part.played:
                self._do(stays, plan[due - 1][1])
                part.played = due

    def _do(self, stays: Sequence[Stay], words: str) -> None:
        gpus = [(stay.node, minor) for stay in stays for minor in sorted(stay.minors)]
        given = cast("list[Doing]", words.split())
        each = dict(zip(gpus, given * len(gpus) if len(given) == 1 else given, strict=True))
        for node in {node for node, _ in gpus}:
            self._stages[node].does({minor: doing for (where, minor), doing in each.items() if where == node})
