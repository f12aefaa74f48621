"""What is true of every run: from Slurm's accounting, what its hooks were told, and what the test did to the GPUs."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.slurm.running import SlurmCluster
from tests.slurm.truth.case import State
from tests.slurm.truth.play import Part, Play
from tests.slurm.truth.stage import Stage

_FIELDS: Final = (
    *("JobIDRaw", "JobID", "JobName", "User", "Account", "Partition", "State", "Start", "End", "ElapsedRaw"),
    *("Suspended", "AllocTRES", "DBIndex"),
)
_GPUS: Final = re.compile(r"\bgres/gpu=(\d+)")
# Prolog runs after the start that Slurm notes in whole seconds, and before anything of the job does.
_PROLOG_MS: Final = 5_000


@dataclass(frozen=True)
class Run:
    """One execution. Times are of all its GPUs together; ``edges`` counts what may be off by an interval each."""

    job_id: str
    name: str
    user: str
    account: str
    partition: str
    state: str
    start_ms: int
    end_ms: int
    gpus: int
    held_ms: int
    places: frozenset[str]
    times: Mapping[State, int]
    edges: Mapping[State, int]
    rule: str
    case: str  # empty: of another test on this cluster


def runs(cluster: SlurmCluster, play: Play, stages: Mapping[str, Stage]) -> list[Run]:
    """Returns every execution of a job with GPUs that the cluster's accounting lists, also those of no case."""
    found = []
    rows = sorted(cluster.sacct("-X", fields=_FIELDS), key=lambda row: int(row["DBIndex"]))
    executions = Counter(row["JobIDRaw"] for row in rows)
    for row in rows:
        executions[row["JobIDRaw"]] -= 1
        part = play.parts.get(int(row["JobIDRaw"]))
        if part is None or part.case.name != row["JobName"]:
            part = None
        # A job that is over within its first second held nothing that anybody counts.
        if _GPUS.search(row["AllocTRES"]) and row["Start"].isdigit() and int(row["ElapsedRaw"]):
            found.append(_run(row, part, stages, last=not executions[row["JobIDRaw"]]))
    return found


def _run(row: Mapping[str, str], part: Part | None, stages: Mapping[str, Stage], *, last: bool) -> Run:
    start_ms, end_ms = int(row["Start"]) * 1000, int(row["End"]) * 1000
    counted = _GPUS.search(row["AllocTRES"])
    assert counted is not None
    gpus, held_ms = int(counted.group(1)), int(counted.group(1)) * int(row["ElapsedRaw"]) * 1000
    times: Counter[State] = Counter()
    edges: Counter[State] = Counter()
    places = set()
    for stay in part.stays if part else ():
        if not start_ms - 1000 <= stay.begun_ms <= min(start_ms + _PROLOG_MS, end_ms + 1000):
            continue
        for minor in stay.minors:
            places.add(f"{stay.node}:{minor}")
            of_gpu, changes = stages[stay.node].spent(minor, start_ms, end_ms)
            times += of_gpu
            edges += changes
    # From Slurm's start to the daemon's look at the drop-file nobody measured, and at the end the other way round.
    edges.update(dict.fromkeys(("active", "low", "idle_held", "idle_empty", "unknown"), 2 * gpus))
    times["unknown"] += held_ms - times.total()
    return Run(
        job_id=row["JobID"],
        name=row["JobName"],
        user=row["User"],
        account=row["Account"],
        partition=row["Partition"],
        state=row["State"].split()[0],
        start_ms=start_ms,
        end_ms=end_ms,
        gpus=gpus,
        held_ms=held_ms,
        places=frozenset(places),
        times=times,
        edges=edges,
        rule=part.case.rule(part.number) if part and last else "",
        case=part.case.name if part else "",
    )
