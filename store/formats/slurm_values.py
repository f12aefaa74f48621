"""How Slurm writes single values: times, durations, memory, trackable resources, states, lists of nodes.

Every function takes a field's text and returns None where Slurm says that there is no value, or writes something that
is none. The words and sentinels are from sacct's manual and slurm.h.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

MOST: Final = (1 << 31) - 1  # what an INTEGER column holds
_NOTHING: Final = frozenset(
    {"", "unknown", "none", "none assigned", "(null)", "n/a", "invalid", "partition_limit", "not_set", "infinite"}
)
_NO_VALUES: Final = frozenset(
    # NO_VAL and INFINITE of 16, 32 and 64 bits, and -2 and -1, as which some versions print them
    {65534, 65535, 4294967294, 4294967295, 18446744073709551614, 18446744073709551615, -1, -2}
)
_DURATION: Final = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9}(?:\.\d{1,9})?)", re.ASCII)
_AMOUNT: Final = re.compile(r"(\d{1,20}(?:\.\d{1,9})?)([KMGTPE]?)(?:i?B)?([nc]?)", re.IGNORECASE | re.ASCII)
_POWERS: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_TOP_LEVEL_COMMA: Final = re.compile(r",(?![^\[]*\])")
_BRACKET: Final = re.compile(r"([0-9]{0,18})\[([^\]]*)\]?")
_RANGE: Final = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_MOST_NODES: Final = 100_000
_MOST_MIB: Final = 1 << 32  # 4 PiB: what is more is a sentinel or its neighbour


def text(value: str) -> str | None:
    """Returns a word, or None where Slurm has none to print."""
    return None if value.strip().lower() in _NOTHING else value


def whole(value: str) -> int | None:
    """Returns a whole number that is no sentinel."""
    value = value.strip()
    if not re.fullmatch(r"-?[0-9]{1,20}", value):
        return None
    number = int(value)
    return None if number in _NO_VALUES else number


def count(value: str, most: int = MOST) -> int | None:
    """Returns a number of things, 0 to ``most``: what is more than any cluster has is a fault and not a number."""
    number = whole(value)
    return number if number is not None and 0 <= number <= most else None


def duration_s(value: str) -> float | None:
    """Returns the seconds of [days-][hours:]minutes:seconds[.fraction]."""
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        return None
    days, hours, minutes, seconds = found.groups()
    total_s = int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds)
    return total_s if total_s <= MOST else None


def memory_mib(value: str, *, bare_mib: float) -> float | None:
    """Returns MiB of an amount such as 512M or 1.50G; one without a unit is of ``bare_mib`` MiB.

    An amount per node or CPU (Slurm before 21.08: 4Gn, 4Gc) is returned by ``per``; here it is None.
    """
    amount, per = amount_per(value, bare_mib=bare_mib)
    return None if per else amount


def amount_per(value: str, *, bare_mib: float) -> tuple[float | None, str]:
    """Returns MiB and what they are for each of: "" the job, "n" a node, "c" a CPU."""
    found = _AMOUNT.fullmatch(value.strip())
    if found is None:
        return None, ""
    digits, unit, per = found.groups()
    mib = float(digits) * (1024.0 ** (_POWERS[unit.upper()] - 2) if unit else bare_mib)
    return (mib if mib <= _MOST_MIB else None), per.lower()


def resources(value: str) -> dict[str, str]:
    """Returns a list of trackable resources, name=amount by name: ``cpu=2,gres/gpu:a100=1,mem=4G``."""
    return dict(part.split("=", 1) for part in value.strip().split(",") if "=" in part)


def gpus(tres: Mapping[str, str]) -> tuple[int | None, str | None]:
    """Returns the number of GPUs and their type; None each where the resources do not say.

    A typed GPU is listed twice, as gres/gpu and as gres/gpu:TYPE: the two are the same and never added. Of several
    types, or where some have none, no type is given.
    """
    typed: dict[str, int] = {}
    for name, amount in tres.items():
        number = count(amount)
        if name.startswith("gres/gpu:") and number:
            typed[name.removeprefix("gres/gpu:")] = number
    total = count(tres.get("gres/gpu", ""))
    if total is None:
        total = sum(typed.values()) if typed else None
    only = next(iter(typed)) if len(typed) == 1 and sum(typed.values()) == total else None
    return total, only


def state(value: str) -> str | None:
    """Returns the state's word: ``CANCELLED by 1002`` is CANCELLED. A word of a later version is passed on."""
    words = value.split()
    return words[0].rstrip("+").upper() if words else None


@lru_cache(maxsize=4096)
def node_names(value: str) -> tuple[str, ...]:
    """Returns the nodes of a list such as n[01-03,7]-ib; padding is kept, since a1, a01 and a001 are three nodes.

    The words for no node give none, and so does what is no list or names more nodes than any cluster has.
    """
    value = value.strip()
    if value.lower() in _NOTHING or not re.fullmatch(r"[\w.\[\],-]+", value, re.ASCII):
        return ()
    # ClusterShell makes every number of a range at once, so a range is measured before.
    if sum(_size(part) for part in _TOP_LEVEL_COMMA.split(value)) > _MOST_NODES:
        return ()
    try:
        return tuple(NodeSet(value, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        return ()


def _size(pattern: str) -> int:
    """Returns how many names ClusterShell makes of a pattern without commas outside brackets, or more.

    It takes digits before a bracket into the range: n1[8-10] is n18 to n110 to it. Slurm writes no such list.
    """
    size = 1
    for digits, bracket in _BRACKET.findall(pattern):
        ranges = [_RANGE.fullmatch(part) for part in bracket.split(",")]
        bounds = [(digits + found[1], digits + (found[2] or found[1])) for found in ranges if found]
        if len(bounds) < len(ranges):
            return _MOST_NODES + 1
        size *= sum(max(1, int(last) - int(first) + 1) for first, last in bounds)
    return size
