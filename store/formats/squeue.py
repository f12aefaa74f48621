"""What ``squeue --json`` prints: every job that slurmctld knows, pending, live, or ended some minutes ago.

Two shapes are read: of Slurm 22.05, where a state is a word and a number is a number or null, and of 24.11, where a
state is a list of words and a number may be an object that says whether it is set. A job's name goes into the output
as the user typed it, so the bytes may be no UTF-8.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from store.formats import slurm_gres as gres
from store.formats import slurm_values as slurm
from store.segment_slurm import LiveRun, NodeGpus, PendingGpus, WaitsFor

PENDING_STATES: Final = frozenset(
    {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
)
# In the order in which they count where 24.11 lists several: a completing run may be RUNNING or COMPLETED as well.
_LIVE_STATES: Final = {
    "SUSPENDED": "SUSPENDED", "STOPPED": "SUSPENDED", "COMPLETING": "COMPLETING", "RUNNING": "RUNNING",
    "CONFIGURING": "RUNNING", "RESIZING": "RUNNING", "SIGNALING": "RUNNING", "STAGE_OUT": "COMPLETING",
}  # fmt: skip
# Reasons are slurmctld's own words (job_state_reason). "None": its turn has not been looked at yet.
_HARDWARE: Final = frozenset({"None", "Priority", "Resources"})
_RELEASE: Final = frozenset(
    {"JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue", "BeginTime", "Dependency", "DependencyNeverSatisfied"}
)
_LIMIT_BEGINNINGS: Final = ("QOS", "Assoc", "Max", "Grp")
_LIMIT_WORDS: Final = ("Limit", "Licenses")
_LAST_SECOND: Final = 253_402_300_799  # of the year 9999
_MOST_ID: Final = (1 << 32) - 1
_MOST_TASKS: Final = 4_000_001  # slurm.conf's highest MaxArraySize


class _Number(msgspec.Struct, frozen=True):
    set: bool = False
    infinite: bool = False
    number: float = 0


_Maybe = int | float | _Number | None
_Words = str | list[str]


class _Job(msgspec.Struct, frozen=True):
    """The fields of a job that are read; all others are passed over unread."""

    job_id: _Maybe = None
    cluster: str | None = None
    job_state: _Words = ""
    state_reason: str | None = None
    array_job_id: _Maybe = None
    array_task_id: _Maybe = None
    array_task_string: str | None = None
    het_job_id: _Maybe = None
    het_job_offset: _Maybe = None
    restart_cnt: _Maybe = None
    nodes: str | None = None
    gres_detail: list[str] | None = None
    tres_req_str: str | None = None
    tres_alloc_str: str | None = None
    tres_per_job: str | None = None
    tres_per_node: str | None = None
    tres_per_task: str | None = None
    node_count: _Maybe = None
    tasks: _Maybe = None
    time_limit: _Maybe = None
    suspend_time: _Maybe = None
    pre_sus_time: _Maybe = None
    submit_time: _Maybe = None
    start_time: _Maybe = None
    end_time: _Maybe = None
    partition: str | None = None
    qos: str | None = None
    account: str | None = None
    user_id: _Maybe = None
    user_name: str | None = None
    name: str | None = None


class _Answer(msgspec.Struct, frozen=True):
    jobs: list[msgspec.Raw] | None = None
    errors: list[dict[str, object]] = []


class Refusal(msgspec.Struct, frozen=True):
    """A record that is not understood; ``record`` counts from 1."""

    record: int
    reason: str


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """The queue of one answer."""

    pending: tuple[PendingGpus, ...] = ()
    runs: tuple[LiveRun, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    jobs: int = 0  # listed at all


class NoQueue(ValueError):
    """The output is no answer. The message says why, without a subject."""


class _Refused(ValueError):
    pass


def parse(data: bytes, cluster: str) -> Queue:
    """Returns what an answer says of jobs that ask for or hold GPUs.

    Args:
        data: the whole output.
        cluster: the name of the cluster for jobs of which the answer does not say it.

    Raises:
        NoQueue: the output is no answer, or says only that there is none.
    """
    try:
        answer = msgspec.json.decode(data.decode("utf-8", errors="replace"), type=_Answer)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise NoQueue(f"its output is no answer ({str(error)[:100]})") from error
    if answer.jobs is None or (answer.errors and not answer.jobs):
        said = answer.errors[0] if answer.errors else {}
        raise NoQueue(f"it says {str(said.get('description') or said.get('error') or 'nothing')[:200]}")
    pending: list[PendingGpus] = []
    runs: list[LiveRun] = []
    refusals: list[Refusal] = []
    for number, raw in enumerate(answer.jobs, 1):
        try:
            job = _decoder.decode(raw)
            states = {job.job_state} if isinstance(job.job_state, str) else set(job.job_state)
            if states & PENDING_STATES:
                pending += _pending(job)
            elif live := next((word for state, word in _LIVE_STATES.items() if state in states), None):
                runs += _live(job, live, cluster)
        except msgspec.MsgspecError as error:
            refusals.append(Refusal(number, f"a job cannot be read ({str(error)[:100]})"))
        except _Refused as error:
            refusals.append(Refusal(number, str(error)))
    return Queue(pending=_together(pending), runs=tuple(runs), refusals=tuple(refusals), jobs=len(answer.jobs))


_decoder: Final = msgspec.json.Decoder(_Job)


def waits_for(reason: str | None) -> WaitsFor:
    """Returns what a pending job waits for, by slurmctld's reason."""
    word = (reason or "None").partition(",")[0]
    if word in _HARDWARE:
        return "hardware"
    if word in _RELEASE:
        return "release"
    if word.startswith(_LIMIT_BEGINNINGS) or any(part in word for part in _LIMIT_WORDS):
        return "limit"
    return "other"


def _pending(job: _Job) -> list[PendingGpus]:
    gpus, gpu_type = _requested(job)
    if not gpus:
        return []
    jobs = _tasks(job)
    return [
        PendingGpus(
            partition=slurm.text(job.partition or ""),
            gpu_type=gpu_type,
            waits_for=waits_for(job.state_reason),
            jobs=jobs,
            gpus=gpus * jobs,
        )
    ]


def _requested(job: _Job) -> tuple[int | None, str | None]:
    """Returns GPUs and type that a job asks for; (None, None) where it asks for none.

    tres_req_str has them only where slurm.conf tracks gres/gpu (AccountingStorageTRES); else they follow from the
    options as they were typed.
    """
    found = slurm.gpus(slurm.resources(job.tres_req_str or ""))
    if found[0]:
        return found
    for text, times in ((job.tres_per_job, 1), (job.tres_per_node, job.node_count), (job.tres_per_task, job.tasks)):
        count, gpu_type = gres.asked_gpus(text or "")
        if count:
            return count * (_whole(times) or 1), gpu_type
    return None, None


def _tasks(job: _Job) -> int:
    """Returns how many jobs a pending record stands for: the tasks of an array that wait are one record."""
    if not job.array_task_string or _whole(job.array_task_id) is not None:
        return 1
    tasks = gres.array_size(job.array_task_string)
    if not tasks or tasks > _MOST_TASKS:
        raise _Refused(f"an array waits with tasks {job.array_task_string[:40]!r}, which is no whole list")
    return tasks


def _together(pending: Iterable[PendingGpus]) -> tuple[PendingGpus, ...]:
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    for one in pending:
        key = (one.partition or "", one.gpu_type or "", one.waits_for)
        jobs, gpus = sums.get(key, (0, 0))
        sums[key] = (jobs + one.jobs, gpus + one.gpus)
    return tuple(
        PendingGpus(partition=partition or None, gpu_type=kind or None, waits_for=reason, jobs=jobs, gpus=gpus)
        for (partition, kind, reason), (jobs, gpus) in sorted(sums.items())
    )


def _live(job: _Job, state: str, cluster: str) -> list[LiveRun]:
    alloc_gpus, gpu_type = slurm.gpus(slurm.resources(job.tres_alloc_str or ""))
    details = job.gres_detail or []
    listed = [gres.gpus_of_node(detail) for detail in details]
    alloc_gpus = alloc_gpus if alloc_gpus is not None else sum(node.count for node in listed) or None
    shared = any(node.shared for node in listed)
    if not alloc_gpus and not shared:
        return []
    job_id, start_s = _whole(job.job_id, _MOST_ID), _whole(job.start_time, _LAST_SECOND)
    if not job_id or not start_s:
        raise _Refused(f"job {job_id} holds GPUs and has no id or no start")
    names = slurm.node_names(job.nodes or "")
    if len(listed) != len(names):
        listed = [gres.NodeGres(count=0, positions=None)] * len(names)
    unlimited, limit_s = _limit(job.time_limit)
    return [
        LiveRun(
            cluster=job.cluster or cluster,
            job_id_raw=str(job_id),
            job_id=_typed(job, job_id),
            state=state,
            start_ms=start_s * 1000,
            restart=_whole(job.restart_cnt),
            user=slurm.text(job.user_name or ""),
            uid=_whole(job.user_id, _MOST_ID),
            account=slurm.text(job.account or ""),
            partition=slurm.text(job.partition or ""),
            qos=slurm.text(job.qos or ""),
            name=job.name or None,
            submit_ms=_ms(job.submit_time),
            timelimit_s=limit_s,
            timelimit_unlimited=unlimited,
            req_gpus=slurm.gpus(slurm.resources(job.tres_req_str or ""))[0],
            alloc_gpus=alloc_gpus,
            gpu_type=gpu_type,
            places=tuple(
                NodeGpus(node=name, positions=node.positions)
                for name, node in zip(names, listed, strict=True)
                if node.positions != ()
            ),
            turned_ms=_ms(job.suspend_time),
            ran_s=_whole(job.pre_sus_time) if _ms(job.suspend_time) else None,
            shared=shared,
            end_ms=_ms(job.end_time) if state == "COMPLETING" else None,
        )
    ]


def _typed(job: _Job, job_id: int) -> str:
    """Returns the id as people type it: 6_0 of an array, 10+1 of a heterogeneous job."""
    array, task = _whole(job.array_job_id, _MOST_ID), _whole(job.array_task_id)
    if array and task is not None:
        return f"{array}_{task}"
    whole, offset = _whole(job.het_job_id, _MOST_ID), _whole(job.het_job_offset)
    return f"{whole}+{offset}" if whole and offset is not None else str(job_id)


def _limit(minutes: _Maybe) -> tuple[bool, int | None]:
    """Returns whether there is none, and else its seconds. 22.05 writes null for none and for not known alike."""
    if isinstance(minutes, _Number) and minutes.infinite:
        return True, None
    number = _whole(minutes)
    return False, number * 60 if number else None


def _ms(seconds: _Maybe) -> int | None:
    number = _whole(seconds, _LAST_SECOND)
    return number * 1000 if number else None


def _whole(value: _Maybe, most: int = slurm.MOST) -> int | None:
    """Returns a whole number that is set and no sentinel."""
    if isinstance(value, _Number):
        value = value.number if value.set and not value.infinite else None
    return None if value is None else slurm.count(f"{value:.0f}", most)
