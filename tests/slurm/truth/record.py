"""What is true of every run: from Slurm's accounting, what its hooks were told, and what the test did to the GPUs."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.slurm.running import SlurmCluster
from tests.slurm.truth.case import STATES, State
from tests.slurm.truth.parts import Part
from tests.slurm.truth.play import Play
from tests.slurm.truth.stage import Stage

_FIELDS: Final = (
    *("JobIDRaw", "JobID", "JobName", "User", "Account", "Partition", "State", "Start", "End", "ElapsedRaw"),
    *("Suspended", "AllocTRES", "DBIndex"),
)
_GPUS: Final = re.compile(r"\bgres/gpu=(\d+)")
_WITHIN_MS: Final = 1000  # Slurm notes whole seconds


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
    nodes: frozenset[str]


def runs(cluster: SlurmCluster, play: Play, stages: Mapping[str, Stage]) -> list[Run]:
    """Returns every execution of a job with GPUs that the cluster's accounting lists, also those of no case."""
    found = []
    rows = sorted(cluster.sacct("-X", fields=_FIELDS), key=lambda row: int(row["DBIndex"]))
    executions = Counter(row["JobIDRaw"] for row in rows)
    for row in rows:
        executions[row["JobIDRaw"]] -= 1
        part = play.parts.by_job.get(int(row["JobIDRaw"]))
        if part is None or part.case.name != row["JobName"]:
            part = None
        # A job that is over within its first second held nothing that anybody counts.
        if _GPUS.search(row["AllocTRES"]) and row["Start"].isdigit() and int(row["ElapsedRaw"]):
            found.append(_run(row, part, stages, last=not executions[row["JobIDRaw"]]))
    return found


def _awake(part: Part | None, start_ms: int, end_ms: int) -> list[tuple[int, int]]:
    """Returns the stretches of a run in which it was not suspended."""
    marks = [start_ms, *(at_ms for pause in (part.suspended if part else ()) for at_ms in pause if at_ms), end_ms]
    return list(zip(marks[::2], marks[1::2], strict=True))


def _run(row: Mapping[str, str], part: Part | None, stages: Mapping[str, Stage], *, last: bool) -> Run:
    start_ms, end_ms = int(row["Start"]) * 1000, int(row["End"]) * 1000
    counted = _GPUS.search(row["AllocTRES"])
    assert counted is not None
    gpus = int(counted.group(1))
    # Nobody polled while other tests ran: when a job of theirs was suspended is not known, so it counts as held.
    held_ms = gpus * (int(row["ElapsedRaw"]) * 1000 if part else end_ms - start_ms)
    times: Counter[State] = Counter()
    edges: Counter[State] = Counter()
    places = set()
    for stay in part.stays if part else ():
        if not start_ms <= stay.begun_ms < end_ms + _WITHIN_MS:
            continue
        for minor in stay.minors:
            places.add(f"{stay.node}:{stages[stay.node].index(minor)}")
            for from_ms, to_ms in _awake(part, start_ms, end_ms):
                of_gpu, changes = stages[stay.node].spent(minor, from_ms, to_ms)
                times += of_gpu
                edges += changes
    # From Slurm's start to the daemon's look at the drop-file nobody measured, and at the end the other way round.
    ends = 2 + 2 * len(part.suspended if part else ())
    edges.update(dict.fromkeys(STATES.values(), ends * gpus))
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
        nodes=frozenset(place.rpartition(":")[0] for place in places),
    )
