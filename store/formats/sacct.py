"""What sacct prints: allocations as runs, and what their steps used.

Asked for as ``sacct --parsable --noheader --noconvert --delimiter=TOKEN --format=FIELDS`` with SLURM_TIME_FORMAT=%s.
Names and comments hold any byte, newlines and every usual delimiter included, so TOKEN is random, the whole output is
split by it, and the newline that begins each record but the first tells whether the records are still in step.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from store.formats import slurm_values as slurm
from store.segment import AccountingRun

RUN_FIELDS: Final = (
    *("Cluster", "DBIndex", "JobIDRaw", "JobID", "User", "UID", "Account", "Partition", "QOS", "State", "ExitCode"),
    *("Submit", "Start", "End", "ElapsedRaw", "Suspended", "Timelimit", "TimelimitRaw", "NNodes", "AllocCPUS"),
    *("ReqMem", "AllocTRES", "ReqTRES", "NodeList", "WorkDir", "JobName"),
)
OPTIONAL_FIELDS: Final = ("Restarts",)
"""Asked for where this version of sacct knows them (--helpformat): an unknown field is fatal to it."""
STEP_FIELDS: Final = ("Cluster", "DBIndex", "JobIDRaw", "State", "NTasks", "MaxRSS", "TRESUsageInTot", "TotalCPU")

ENDED_STATES: Final = frozenset(
    {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "DEADLINE"}
    | {"BOOT_FAIL", "REVOKED", "REQUEUED"}
)
_SLACK_S: Final = 60  # that elapsed time may be longer than end less start, before it is bad accounting
_LONGEST_S: Final = 10 * 366 * 86400
_LAST_SECOND: Final = 253_402_300_799  # of the year 9999
_MOST_UID: Final = (1 << 32) - 1
_MOST_INDEX: Final = (1 << 63) - 1
_BYTE_MIB: Final = 1 / (1 << 20)


class Refusal(msgspec.Struct, frozen=True):
    """A record that is no run. ``record`` counts from 1, since records have lines of their own."""

    record: int
    reason: str


class Parsed(msgspec.Struct, frozen=True):
    """The runs of an output, in its order, and what was refused."""

    runs: tuple[AccountingRun, ...]
    refusals: tuple[Refusal, ...]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What one step of a run used, summed over its tasks; None while it lasts or where nothing was gathered."""

    name: str  # batch, extern, interactive, or a number
    cpu_s: float | None = None  # gathered by sampling, in whole seconds
    waited_cpu_s: float | None = None  # TotalCPU: exact, of those processes only whose end was waited for
    mem_mib: float | None = None


Key = tuple[str, int]
"""Cluster and DBIndex: job ids come again, after a requeue and when they wrap."""


class _Refused(ValueError):
    pass


def parse_runs(data: bytes, fields: Sequence[str], delimiter: str) -> Parsed:
    """Returns the allocations in the output of sacct -X for ``fields``, which hold RUN_FIELDS.

    A job that never ran has no start: still pending, cancelled before, or refused at submission, which Slurm records
    as FAILED at the moment of submission with no resources.
    """
    runs: list[AccountingRun] = []
    refusals: list[Refusal] = []
    for number, record in _records(data, fields, delimiter):
        try:
            runs.append(_run(_whole(record)))
        except _Refused as error:
            refusals.append(Refusal(number, str(error)))
    return Parsed(tuple(runs), tuple(refusals))


def parse_steps(data: bytes, fields: Sequence[str], delimiter: str) -> dict[Key, list[Step]]:
    """Returns the steps by run in an output without -X for ``fields``, which hold STEP_FIELDS."""
    found: dict[Key, list[Step]] = {}
    for _, record in _records(data, fields, delimiter):
        if isinstance(record, str):
            break
        job, _, name = record["JobIDRaw"].partition(".")
        db_index = _db_index(record)
        if not name or not job.isdigit() or db_index is None:
            continue
        used = slurm.resources(record["TRESUsageInTot"])
        step = Step(
            name=name,
            cpu_s=slurm.duration_s(used.get("cpu", "")),
            waited_cpu_s=slurm.duration_s(record["TotalCPU"]),
            mem_mib=_step_memory(record, used),
        )
        found.setdefault((record["Cluster"], db_index), []).append(step)
    return found


def with_steps(run: AccountingRun, steps: Iterable[Step]) -> AccountingRun:
    """Returns the run with what its steps say: batch or not, processor time, and memory.

    Memory is the most that one step used, since steps may follow each other; it is an estimate, its tasks' maxima
    being summed. Processor time counts only where every step tells it: a sum of some would make a run look idle. Of a
    completed run the exact time is known as well, and taken where it is more; children of steps that were signalled
    are left out of it, so of others it says nothing. The job's own row does not have it under -X.
    """
    steps = list(steps)
    if not steps:
        return run
    names = {step.name for step in steps}
    # The batch step of a heterogeneous job is on its first component.
    batch = True if "batch" in names else None if re.search(r"\+[1-9]", run.job_id) else False
    waited_s = _sum(step.waited_cpu_s for step in steps) if run.state == "COMPLETED" else 0.0
    memory = [step.mem_mib for step in steps if step.mem_mib]
    return msgspec.structs.replace(
        run,
        has_batch_step=batch,
        cpu_s=max(_sum(step.cpu_s for step in steps), waited_s) or None,
        max_rss_mib=round(max(memory)) if memory else None,
    )


def _sum(seconds: Iterable[float | None]) -> float:
    """Returns the sum, or 0 where one of them is not known."""
    total_s = 0.0
    for each_s in seconds:
        if each_s is None:
            return 0.0
        total_s += each_s
    return total_s


def _records(data: bytes, fields: Sequence[str], delimiter: str) -> Iterator[tuple[int, dict[str, str] | str]]:
    """Yields number and fields of each record, or the reason why it and all after it cannot be read."""
    values = data.decode("utf-8", errors="replace").split(delimiter)
    rest = values.pop()
    for number, start in enumerate(range(0, len(values), len(fields)), 1):
        record = values[start : start + len(fields)]
        if number > 1 and not record[0].startswith("\n"):
            yield number, "it does not begin on a line of its own"
            return
        if len(record) < len(fields):
            yield number, f"it has {len(record)} of {len(fields)} fields"
            return
        record[0] = record[0].removeprefix("\n")
        yield number, dict(zip(fields, record, strict=True))
    if rest.strip():
        yield len(values) // len(fields) + 1, "the output is cut off in it"


def _whole(record: dict[str, str] | str) -> dict[str, str]:
    if isinstance(record, str):
        raise _Refused(record)
    return record


def _run(record: Mapping[str, str]) -> AccountingRun:
    raw, db_index, state = record["JobIDRaw"], _db_index(record), slurm.state(record["State"])
    if not re.fullmatch(r"[0-9]+", raw):
        raise _Refused(f"JobIDRaw {raw[:40]!r} is no job id")
    if not db_index or state is None:
        raise _Refused(f"job {raw} has no DBIndex or no state")
    alloc, req = slurm.resources(record["AllocTRES"]), slurm.resources(record["ReqTRES"])
    alloc_gpus, gpu_type = slurm.gpus(alloc)
    req_gpus, _ = slurm.gpus(req)
    unlimited, timelimit_s = _timelimit(record)
    times = _times(record, state, ran=bool(alloc) and state != "PENDING")
    return AccountingRun(
        cluster=record["Cluster"],
        db_index=db_index,
        job_id_raw=raw,
        job_id=record["JobID"] if re.fullmatch(r"[0-9]+(?:[_+][0-9]+)?", record["JobID"]) else raw,
        state=state,
        user=slurm.text(record["User"]),
        uid=slurm.count(record["UID"], _MOST_UID),
        account=slurm.text(record["Account"]),
        partition=slurm.text(record["Partition"]),
        qos=slurm.text(record["QOS"]),
        name=record["JobName"] or None,
        submit_ms=_ms(record, "Submit"),
        start_ms=times.start_ms,
        end_ms=times.end_ms,
        elapsed_s=times.elapsed_s,
        suspended_s=_rounded(slurm.duration_s(record["Suspended"])),
        timelimit_s=timelimit_s,
        timelimit_unlimited=unlimited,
        nodes=slurm.node_names(record["NodeList"]),
        # A request that names no GPU on a run that has some: they were forced on it, by --exclusive or by policy.
        req_gpus=0 if req_gpus is None and req and alloc_gpus else req_gpus,
        alloc_gpus=alloc_gpus,
        gpu_type=gpu_type,
        alloc_cpus=slurm.count(record["AllocCPUS"]) or None,
        req_mem_mib=_requested_memory(record, req),
        exit_code=slurm.text(record["ExitCode"]),
        work_dir=slurm.text(record["WorkDir"]),
        restart=slurm.count(record.get("Restarts", "")),
    )


class _Times(NamedTuple):
    start_ms: int | None
    end_ms: int | None
    elapsed_s: int | None


def _times(record: Mapping[str, str], state: str, *, ran: bool) -> _Times:
    """Returns start, end and elapsed time. Elapsed leaves suspended time out, so it may be shorter than end - start."""
    start_ms, end_ms = _ms(record, "Start"), _ms(record, "End")
    if not ran or start_ms is None:
        return _Times(None, end_ms, None)
    elapsed_s = slurm.count(record["ElapsedRaw"])
    if end_ms is not None and end_ms < start_ms:
        raise _Refused(f"job {record['JobIDRaw']} ends before it begins: bad accounting")
    longest_s = _LONGEST_S if end_ms is None else (end_ms - start_ms) // 1000 + _SLACK_S
    if elapsed_s is not None and elapsed_s > longest_s:
        elapsed_s = None
    if end_ms is None and state in ENDED_STATES and elapsed_s is not None:
        # Its end was lost: what it lasted is then the only thing known.
        end_ms = start_ms + 1000 * (elapsed_s + round(slurm.duration_s(record["Suspended"]) or 0))
    return _Times(start_ms, end_ms, elapsed_s)


def _db_index(record: Mapping[str, str]) -> int | None:
    return slurm.count(record["DBIndex"], _MOST_INDEX)


def _ms(record: Mapping[str, str], field: str) -> int | None:
    value = record[field]
    if slurm.text(value) is None:
        return None
    if not re.fullmatch(r"-?[0-9]+", value.strip()):
        raise _Refused(f"{field} {value[:40]!r} is no time in seconds: SLURM_TIME_FORMAT=%s was not heeded")
    seconds = slurm.count(value, _LAST_SECOND)
    return seconds * 1000 if seconds else None


def _timelimit(record: Mapping[str, str]) -> tuple[bool, int | None]:
    raw = record["TimelimitRaw"].strip()
    if raw.lower() == "unlimited" or record["Timelimit"].strip().lower() == "unlimited":
        return True, None
    minutes = slurm.count(raw)
    if minutes is not None:
        return False, minutes * 60
    return False, _rounded(slurm.duration_s(record["Timelimit"]))


def _requested_memory(record: Mapping[str, str], req: Mapping[str, str]) -> int | None:
    """Returns what the whole job asked for; 0, alone or per node or CPU, is all of a node and says no amount."""
    mib = slurm.memory_mib(req.get("mem", ""), bare_mib=1)
    if mib is None:
        mib, per = slurm.amount_per(record["ReqMem"], bare_mib=1)
        factor = {"": 1, "n": slurm.count(record["NNodes"]), "c": slurm.count(record["AllocCPUS"])}[per]
        mib = None if mib is None or factor is None else mib * factor
    return round(mib) if mib else None


def _step_memory(record: Mapping[str, str], used: Mapping[str, str]) -> float | None:
    total_mib = slurm.memory_mib(used.get("mem", ""), bare_mib=_BYTE_MIB)
    if total_mib is not None:
        return total_mib
    # MaxRSS is of the largest task of the step.
    largest_mib = slurm.memory_mib(record["MaxRSS"], bare_mib=_BYTE_MIB)
    return None if largest_mib is None else largest_mib * (slurm.count(record["NTasks"]) or 1)


def _rounded(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)
