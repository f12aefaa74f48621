"""A node's own list of GPUs: as ``slurmd -G`` prints it, and as gres.conf writes it.

    slurmd: Gres Name=gpu Type=a100 Count=2 Index=0 ID=7696487 File=/dev/nvidia[3,1] (null)
    NodeName=n[1-3] Name=gpu Type=a100 File=/dev/nvidia[3,1]

The order counts: the first file is place 0, whatever its number, and a range in brackets is taken as written. slurmd
puts the types in slurm.conf's order, so gres.conf alone tells the order of one type only. (Both tried on Slurm 22.05.)
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from store.formats.slurm_values import node_names

MOST_PLACES: Final = 1024
_NOTHING: Final = frozenset({"", "(null)", "none", "N/A"})
_SHARES: Final = frozenset({"shard", "mps"})
_RECORD: Final = re.compile(r"\bGres (Name=.*)")
_WORD: Final = re.compile(r"(\w+)=(\S*)")
_TOP_LEVEL_COMMA: Final = re.compile(r",(?![^\[]*\])")
_FILES: Final = re.compile(r"([^\[\]]*)(?:\[([0-9,-]+)\])?([^\[\]]*)")
_RANGE: Final = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


class Place(msgspec.Struct, frozen=True):
    """One place of the list: the device file, or the UUID of a MIG instance."""

    file: str
    unique_id: str = ""


class GpuPlaces(msgspec.Struct, frozen=True):
    """The places in order; ``shares``: whether the node gives away shards or MPS of them as well."""

    places: tuple[Place, ...]
    shares: bool = False


class BadList(ValueError):
    """The list cannot be told from this text; the message says why, in a few words."""


def printed_by_slurmd(data: bytes) -> GpuPlaces:
    """Returns the places in what ``slurmd -G`` printed, on either stream; raises BadList."""
    text = data.decode(errors="replace")
    records = [dict(_WORD.findall(found)) for found in _RECORD.findall(text)]
    gpus = [record for record in records if record.get("Name") == "gpu"]
    shares = any(record.get("Name") in _SHARES for record in records)
    return GpuPlaces(_checked([place for record in gpus for place in _places(record)]), shares)


def written_in_gres_conf(data: bytes, node: str) -> GpuPlaces:
    """Returns the places that a gres.conf gives to ``node``; raises BadList where only slurmd knows."""
    found: list[Place] = []
    types = set[str]()
    shares = False
    for line in _lines(data):
        if line.split()[0].lower() == "include":
            raise BadList("it includes another file")
        words = {key.lower(): value for key, value in _WORD.findall(line)}
        if "nodename" in words and node not in node_names(words["nodename"]):
            continue
        if words.get("autodetect", "off").lower() != "off":
            raise BadList(f"AutoDetect={words['autodetect']}: only slurmd knows what it found")
        shares = shares or words.get("name") in _SHARES
        if words.get("name") != "gpu":
            continue
        if "multiplefiles" in words:
            raise BadList("it names several files for one GPU")
        types.add(words.get("type", ""))
        found += [Place(file) for file in _expanded(words.get("file", ""))]
    if len(types) > 1:
        raise BadList("it has several types of GPU, whose order slurm.conf decides")
    return GpuPlaces(_checked(found), shares)


def _places(record: dict[str, str]) -> list[Place]:
    files, unique_id = record.get("File", ""), record.get("UniqueId", "")
    if unique_id not in _NOTHING:
        return [Place(_expanded(files)[0], unique_id)]
    expanded = _expanded(files)
    if record.get("Count") != str(len(expanded)):
        raise BadList(f"{record.get('Count')} GPUs with {len(expanded)} device files")
    return [Place(file) for file in expanded]


def _checked(places: list[Place]) -> tuple[Place, ...]:
    if len(places) > MOST_PLACES:
        raise BadList(f"it has {len(places)} places")
    if len(set(places)) < len(places):
        raise BadList("a device is listed twice")
    return tuple(places)


def _expanded(files: str) -> list[str]:
    """Returns nvidia5 and nvidia1 of nvidia[5,1]: in the order written, which is the order that counts."""
    if files in _NOTHING:
        raise BadList("Slurm counts GPUs here without device files")
    found: list[str] = []
    for part in _TOP_LEVEL_COMMA.split(files):
        pieces = _FILES.fullmatch(part)
        if pieces is None:
            raise BadList(f"{part[:80]} is no list of device files")
        before, numbers, after = pieces.groups()
        found += [before + after] if numbers is None else [f"{before}{number}{after}" for number in _counted(numbers)]
    return found


def _counted(numbers: str) -> Iterator[int]:
    for span in numbers.split(","):
        bounds = _RANGE.fullmatch(span)
        if bounds is None or int(bounds[2] or bounds[1]) - int(bounds[1]) >= MOST_PLACES:
            raise BadList(f"[{numbers[:80]}] is no list of numbers")
        yield from range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1)


def _lines(data: bytes) -> Iterator[str]:
    """Yields the lines with something in them, those broken by a backslash put together."""
    text = re.sub(r"\\\r?\n", " ", data.decode(errors="replace"))
    for line in text.splitlines():
        if stripped := line.partition("#")[0].strip():
            yield stripped
