"""Who submits what, when: submissions drawn day by day, so that a longer horizon never changes an earlier day."""

from collections.abc import Iterable

import msgspec
import numpy as np

from gpuledger.demo.cluster import DAY_S, HOUR_S, Cluster
from gpuledger.demo.families import Family
from gpuledger.demo.labels import Label
from gpuledger.demo.mechanisms.course import Course
from gpuledger.demo.noise import generator, lognormal

FULL_SIZE_GPUS = 128  # the cluster that Family.per_day speaks of
FIRST_JOB_ID = 410_200
BACKLOG_S = 20 * 60  # the cluster comes back from maintenance: what was held up is submitted in the first minutes
BACKLOG_DAYS = 0.6
QUIET_WEEKEND = 0.6
# Submissions by hour of the day in UTC: a morning rise, a lunch dip, an evening "for the night".
OFFICE = np.array([1, 1, 0, 0, 0, 1, 2, 5, 9, 11, 11, 9, 7, 8, 10, 10, 9, 10, 7, 4, 3, 3, 2, 1], dtype=np.float64)
_COURSE, _DAY = 1, 2


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One job, or one task of an array, as it was submitted."""

    family: Family
    path: tuple[int, ...]  # names its random draws
    submit_s: int
    limit_s: int
    gpus_per_node: int
    job_id_raw: int = 0
    job_id: str = ""
    name: str = ""

    @property
    def gpus(self) -> int:
        """GPUs asked for in all."""
        return self.gpus_per_node * self.family.nodes


class Fate(msgspec.Struct, frozen=True, kw_only=True):
    """How an execution would go if nothing outside touched it."""

    course: Course
    ends_after_s: int
    state: str
    exit_code: str


def requests(families: Iterable[Family], cluster: Cluster, seed: int, start_s: int, days: int) -> list[Request]:
    """Returns the submissions of ``days`` whole days from ``start_s``, in order, with job ids."""
    drawn: list[tuple[int, int, int, Family, Request]] = []
    for number, family in enumerate(families):
        partition = cluster.partitions[family.partition]
        if family.nodes > len(partition.nodes):
            continue
        gpus = min(family.gpus, cluster.gpus_per_node)
        limit_s = min(family.limit_s or partition.max_time_s, partition.max_time_s)
        for day in range(days):
            rng = generator(seed, _DAY, number, day)
            for nth, submit_s in enumerate(_times(rng, family, cluster, start_s, day)):
                request = Request(
                    family=family, path=(seed, number, day, nth), submit_s=submit_s, limit_s=limit_s, gpus_per_node=gpus
                )
                drawn.append((submit_s, number, nth, family, request))
    drawn.sort(key=lambda item: item[:3])
    return _numbered(request for *_, request in drawn)


def _times(rng: np.random.Generator, family: Family, cluster: Cluster, start_s: int, day: int) -> list[int]:
    per_day = family.per_day * cluster.gpus / FULL_SIZE_GPUS
    midnight = start_s + day * DAY_S
    hours = (np.arange(24) + midnight // HOUR_S) % 24
    weights = OFFICE[hours] if family.when == "office" else np.full(24, OFFICE.mean())
    weekend = (midnight // DAY_S + 4) % 7 in (6, 0)  # 1970-01-01 was a Thursday; 0 is Sunday
    count = rng.poisson(per_day * (QUIET_WEEKEND if weekend and family.when == "office" else 1.0))
    hour = rng.choice(24, size=count, p=weights / weights.sum())
    times = midnight + hour * HOUR_S + rng.integers(0, HOUR_S, size=count)
    backlog = rng.poisson(per_day * BACKLOG_DAYS) if day == 0 else 0
    early = start_s + rng.integers(5, BACKLOG_S, size=backlog)
    return sorted(int(time) for time in np.concatenate((times, early)))


def _numbered(submitted: Iterable[Request]) -> list[Request]:
    """Gives ids in order of submission; an array's tasks follow each other, typed as <array>_<task>."""
    numbered: list[Request] = []
    next_id = FIRST_JOB_ID
    for request in submitted:
        tasks = request.family.tasks
        name = request.family.name.replace("{n}", str(next_id % 97))
        for task in range(tasks):
            raw = next_id + task
            numbered.append(
                msgspec.structs.replace(
                    request, job_id_raw=raw, job_id=f"{next_id}_{task}" if tasks > 1 else str(raw), name=name,
                    path=(*request.path, task),
                )
            )  # fmt: skip
        next_id += tasks
    return numbered


def fate(request: Request, restart: int) -> Fate:
    """Draws what becomes of an execution left alone: done, failed, out of memory, cancelled, or cut by its limit."""
    family = request.family
    rng = generator(*request.path, restart, _COURSE)
    course = family.does.course(rng, lognormal(rng, family.work_s, family.spread))
    if rng.random() < family.runs_out:
        early = course.setup_s + rng.uniform(20, 200)
        return _cut(course, early, "OUT_OF_MEMORY", "0:125")
    if rng.random() < family.fails:
        early = course.setup_s + course.work_s * rng.beta(0.6, 2.0)
        return _cut(course, early, "FAILED", "1:0")
    if course.total_s >= request.limit_s:
        # slurmctld looks once a minute and ends a run some seconds after its limit
        return Fate(
            course=course, ends_after_s=request.limit_s + int(rng.integers(2, 30)), state="TIMEOUT", exit_code="0:0"
        )
    if family.cancelled:
        return Fate(course=course, ends_after_s=max(60, int(course.total_s)), state="CANCELLED", exit_code="0:0")
    if restart < family.restarts:
        return Fate(course=course, ends_after_s=max(60, int(course.total_s)), state="REQUEUED", exit_code="0:0")
    if course.label is Label.SLEEPS and rng.random() < 0.6:
        return Fate(course=course, ends_after_s=max(60, int(course.total_s)), state="CANCELLED", exit_code="0:0")
    return Fate(course=course, ends_after_s=max(60, int(course.total_s)), state="COMPLETED", exit_code="0:0")


def _cut(course: Course, after_s: float, state: str, exit_code: str) -> Fate:
    return Fate(course=course, ends_after_s=max(20, int(after_s)), state=state, exit_code=exit_code)
