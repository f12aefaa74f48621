"""How Slurm writes GPUs in single fields of a job: as asked for and as given; and the tasks of an array."""

import re
from typing import Final

import msgspec

_ASKED: Final = re.compile(r"(?:gres[:/])?gpu(?::([A-Za-z][^:=,()]*))?(?:[:=]([0-9]{1,9}))?")
_GIVEN: Final = re.compile(r"(gpu|shard|mps)(?::([^:,()]+))??(?::([0-9]{1,9}))?(?:\(([^()]*)\))?(?=,|$)")
_SPAN: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([1-9][0-9]{0,8}))?)?")
_BITMAP: Final = re.compile(r"0[xX]([0-9A-Fa-f]{1,1000002})")
_MOST_GPUS: Final = 1024  # of one node


class NodeGres(msgspec.Struct, frozen=True):
    """A run's GPUs on one node; ``positions`` None where Slurm does not tell them."""

    count: int
    positions: tuple[int, ...] | None
    shared: bool = False  # by shards or MPS


def asked_gpus(text: str) -> tuple[int | None, str | None]:
    """Returns number and type of GPUs in a request such as ``gres:gpu:a100:2`` or ``gres/gpu:4``; no number is 1."""
    total, kinds = 0, set[str]()
    for part in text.split(","):
        found = _ASKED.fullmatch(part.strip())
        if found:
            total += int(found[2] or 1)
            kinds.add(found[1] or "")
    only = kinds.pop() if len(kinds) == 1 else ""
    return (total, only or None) if total else (None, None)


def gpus_of_node(detail: str) -> NodeGres:
    """Returns what ``gpu:a100:2(IDX:0-1)`` gives; several kinds on one node are one list of positions."""
    count, shared = 0, False
    positions: set[int] | None = set()
    for kind, _, number, where in _GIVEN.findall(detail):
        if kind != "gpu":
            shared = True
            continue
        count += int(number or 1)
        here = _positions(where)
        positions = None if positions is None or here is None else positions | here
    if positions is not None and len(positions) != count:
        positions = None
    return NodeGres(count, None if positions is None else tuple(sorted(positions)), shared)


def _positions(where: str) -> set[int] | None:
    """Returns the positions in ``IDX:0-1,3``; None where that is no list of GPUs of a node."""
    if not where.startswith("IDX:"):
        return None
    spans = [_SPAN.fullmatch(part) for part in where.removeprefix("IDX:").split(",")]
    found: set[int] = set()
    for span in spans:
        if span is None or int(span[2] or span[1]) >= _MOST_GPUS:
            return None
        found.update(range(int(span[1]), int(span[2] or span[1]) + 1))
    return found


def array_size(tasks: str) -> int | None:
    """Returns how many tasks ``0-3,7,9-15:2%4`` names, the limit behind ``%`` being none of them; None: no list.

    Slurm writes them as a bitmap where it has not spelt them out, and breaks a long list off with dots.
    """
    bitmap = _BITMAP.fullmatch(tasks.partition("%")[0])
    if bitmap:
        return int(bitmap[1], 16).bit_count()
    total = 0
    for part in tasks.partition("%")[0].strip("[]").split(","):
        span = _SPAN.fullmatch(part)
        if span is None:
            return None
        first, last, step = int(span[1]), int(span[2] or span[1]), int(span[3] or 1)
        total += max(0, last - first) // step + 1
    return total
