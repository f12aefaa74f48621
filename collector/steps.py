"""Jobs by the environment of their steps: what Slurm itself put there, read once for each step.

Right are SLURM_JOB_GPUS in the batch step, and SLURM_STEP_GPUS in the others, which may be fewer than the job holds.
Never SLURM_JOB_GPUS of another step: off the batch node it is the batch node's, and in a later component of a
heterogeneous job the first one's. Never with GPUs bound to tasks: every task then says 0. (Tried on 22.05 and 24.11.)

It takes CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, or root; without them this source says nothing.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from collector.claims import Claim, Scene
from collector.liveness import ControlGroups, Step
from collector.proc import by_age

BATCH: Final = "batch"
_NO_TASKS: Final = "extern"
_BOUND_TO_TASKS: Final = ("SLURM_GPUS_PER_TASK", "SLURMD_TRES_BIND", "SLURM_TRES_BIND")


class _Said(msgspec.Struct, frozen=True):
    gpus: tuple[str, ...]
    is_bound: bool  # to tasks
    uid: int | None


class StepEnvironments:
    """Reads the environment of each step's first process."""

    def __init__(self, groups: ControlGroups, proc: Path = Path("/proc")) -> None:
        self._groups = groups
        self._proc = proc
        self._said: dict[Step, _Said] = {}

    def claims(self, scene: Scene) -> Mapping[str, Claim]:
        """Returns what the steps say (see collector.claims.Witness)."""
        steps = [step for step in self._groups.steps() if step.name != _NO_TASKS]
        known = {step: said for step in steps if (said := self._said.get(step) or self._read(step)) is not None}
        self._said = known  # of steps that are over nothing is kept
        jobs: dict[str, dict[str, _Said]] = {}
        for step, said in known.items():
            jobs.setdefault(step.job_id, {})[step.name] = said
        claims = {job_id: _claim(by_step, scene) for job_id, by_step in jobs.items()}
        return {job_id: claim for job_id, claim in claims.items() if claim is not None}

    def _read(self, step: Step) -> _Said | None:
        """Returns what a step's oldest process was given; None until there is one, or where it may not be read."""
        wanted = "SLURM_JOB_GPUS" if step.name == BATCH else "SLURM_STEP_GPUS"
        for pid in by_age(self._groups.processes(step), self._proc):
            folder = self._proc / str(pid)
            try:
                data = (folder / "environ").read_bytes()
                uid = folder.stat().st_uid
            except PermissionError:
                return _Said((), is_bound=False, uid=None)  # nor will it be allowed at the next look
            except OSError:
                continue
            pairs = (word.split("=", 1) for word in data.decode(errors="replace").split("\0") if "=" in word)
            environment = dict(pairs)
            if "SLURM_JOB_ID" in environment:  # slurmstepd itself has none of it
                gpus = tuple(word for word in environment.get(wanted, "").split(",") if word)
                return _Said(gpus, any(environment.get(key) for key in _BOUND_TO_TASKS), uid)
        return None


def _claim(by_step: Mapping[str, _Said], scene: Scene) -> Claim | None:
    batch = by_step.get(BATCH)
    said = [batch] if batch is not None and batch.gpus else [each for each in by_step.values() if not each.is_bound]
    gpus = sorted({gpu for each in said for gpu in each.gpus})
    devices = scene.place(gpus) if gpus else None
    if devices is None:
        return None
    return Claim("step", frozenset(devices), is_whole=bool(batch and batch.gpus), uid=said[0].uid)
