"""Parser of `scontrol -o show node|partition|reservation`: one record a line of Key=Value pairs.

Run with SLURM_TIME_FORMAT=%s. Values may hold spaces and "=" (OS, Reason, Comment); what people may write freely stands
behind everything that is read here, so the first value of a key counts. Written for Slurm 22.05 to 24.11.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from store.formats import slurm_values as slurm
from store.segment import GpuGroup, NodeSeen, PartitionSeen, ReservationSeen

T = TypeVar("T")

_PAIR: Final = re.compile(r"(?:^|(?<=\s))([A-Z][A-Za-z_/]*)=")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,255}")
# gpu:4, gpu:a100:4(S:0-1), gpu:a100:3(IDX:0-1,3); a type may be a number (3090).
_GPUS: Final = re.compile(r"(?:^|,)gpu(?::([^:,()]{1,64}))?:(\d{1,9})(?=[(,]|$)")
_REASON: Final = re.compile(r"(?<=\sReason=)(.*?)\s*\[[^\[\]@\s]*@(\d{1,12})\]", re.DOTALL)
_MARKS: Final = "*~#!%$@^-+"  # the marks that sinfo and older versions put behind a state
_LAST_SECOND: Final = 253402300799
_MOST_GPUS: Final = 1024  # of one node
_LETTERS: Final = 200


class Refusal(NamedTuple):
    """A record that was passed over, counted from 1, and why."""

    record: int
    reason: str


class Parsed(NamedTuple, Generic[T]):
    """What an output says, and what of it could not be read."""

    found: tuple[T, ...]
    refusals: tuple[Refusal, ...]


class _Refused(Exception):
    """Why a record is passed over."""


def parse_nodes(data: bytes, at_ms: int) -> Parsed[NodeSeen]:
    """Returns the nodes in an output of `show node -d`, seen at ``at_ms``; ones of the future do not exist yet."""
    parsed = _parse(data, "NodeName", lambda record: _node(record, at_ms))
    return parsed._replace(found=tuple(node for node in parsed.found if node.state != "FUTURE"))


def parse_partitions(data: bytes) -> Parsed[PartitionSeen]:
    """Returns the partitions in an output of `show partition`."""
    return _parse(data, "PartitionName", _partition)


def parse_reservations(data: bytes) -> Parsed[ReservationSeen]:
    """Returns the reservations in an output of `show reservation`; where there is none it says so in a sentence."""
    return _parse(data, "ReservationName", _reservation)


def _parse(data: bytes, first_key: str, read: Callable[[dict[str, str]], T]) -> Parsed[T]:
    found: list[T] = []
    refusals: list[Refusal] = []
    for number, record in enumerate(_records(data, first_key), 1):
        try:
            found.append(read(record))
        except _Refused as error:
            refusals.append(Refusal(number, str(error)))
    return Parsed(tuple(found), tuple(refusals))


def _records(data: bytes, first_key: str) -> Iterator[dict[str, str]]:
    """Yields the records: a line that does not begin with the first key goes on with the one before it."""
    text = data.decode("utf-8", errors="replace")
    for record in re.split(rf"^(?={first_key}=)", text, flags=re.MULTILINE)[1:]:
        pairs = list(_PAIR.finditer(record))
        values: dict[str, str] = {}
        for pair, following in zip(pairs, [*pairs[1:], None], strict=True):
            value = record[pair.end() : following.start() if following else len(record)].strip()
            values.setdefault(pair.group(1), value)
        said = _REASON.search(record)
        if said is not None:
            values |= {"Reason": said[1], "ReasonTime": said[2]}
        yield values


def _node(record: dict[str, str], at_ms: int) -> NodeSeen:
    name = _name(record["NodeName"], "NodeName")
    words = [word.strip(_MARKS).upper() for word in record.get("State", "").split("+")]
    if not all(re.fullmatch(r"[A-Z_]{1,64}", word) for word in words):
        raise _Refused(f"node {name} has no state")
    version = slurm.text(record.get("Version", ""))
    return NodeSeen(
        name=name,
        at_ms=at_ms,
        state=words[0],
        flags=tuple(sorted(set(words[1:]))),
        gpus=_gpus(record.get("Gres", ""), name),
        gpus_used=sum(group.count for group in _gpus(record["GresUsed"], name)) if "GresUsed" in record else None,
        cpus=slurm.count(record.get("CPUEfctv", record.get("CPUTot", ""))),
        cpus_used=slurm.count(record.get("CPUAlloc", "")),
        mem_mib=slurm.count(record.get("RealMemory", "")),
        mem_used_mib=slurm.count(record.get("AllocMem", "")),
        partitions=tuple(filter(_NAME.fullmatch, record.get("Partitions", "").split(","))),
        reason=record.get("Reason", "")[:_LETTERS] or None,
        reason_ms=_ms(record.get("ReasonTime", "")),
        boot_ms=_ms(record.get("BootTime", "")),
        version=version[:_LETTERS] if version else None,
    )


def _partition(record: dict[str, str]) -> PartitionSeen:
    limit_s = slurm.duration_s(record.get("MaxTime", ""))
    return PartitionSeen(
        name=_name(record["PartitionName"], "PartitionName"),
        nodes=slurm.node_names(record.get("Nodes", "")),
        max_time_s=None if limit_s is None else round(limit_s),
        is_default=record.get("Default") == "YES",
        state=slurm.text(record.get("State", "")[:_LETTERS]),
    )


def _reservation(record: dict[str, str]) -> ReservationSeen:
    name = record["ReservationName"]
    start_ms, end_ms = _ms(record.get("StartTime", "")), _ms(record.get("EndTime", ""))
    if not name or len(name) > _LETTERS or start_ms is None or end_ms is None or end_ms < start_ms:
        raise _Refused(f"reservation {name[:40]!r} has no beginning and end in seconds")
    return ReservationSeen(
        name=name,
        start_ms=start_ms,
        end_ms=end_ms,
        nodes=slurm.node_names(record.get("Nodes", "")),
        flags=tuple(sorted(filter(_NAME.fullmatch, record.get("Flags", "").split(",")))),
    )


def _gpus(value: str, node: str) -> tuple[GpuGroup, ...]:
    groups = tuple(GpuGroup(type=kind or "", count=int(count)) for kind, count in _GPUS.findall(value))
    if sum(group.count for group in groups) > _MOST_GPUS:
        raise _Refused(f"node {node} is said to have more than {_MOST_GPUS} GPUs")
    return groups


def _name(value: str, key: str) -> str:
    if not _NAME.fullmatch(value):
        raise _Refused(f"{key} {value[:40]!r} is no name")
    return value


def _ms(value: str) -> int | None:
    seconds = slurm.count(value, _LAST_SECOND)
    return seconds * 1000 if seconds else None
