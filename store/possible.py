"""What a segment may say at all.

Whoever reads the tables relies on it: no moment before clocks were set or in the future, no negative size, no number
that stands for "not known" in somebody's driver or accounting.
"""

import math
import re
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Final, TypeVar

import msgspec

from store.possible_inventory import possible_readings
from store.segment import (
    AccountingRun,
    Device,
    Event,
    Holding,
    NullReason,
    ProbeRun,
    ProcessSeen,
    Segment,
    SegmentError,
)

T = TypeVar("T", bound=msgspec.Struct)

# munge refuses credentials more than five minutes off, so a node further ahead runs no jobs; and "as of" is the newest
# row of any node, so one clock in the future would hold every running job until then.
MAX_AHEAD_MS: Final = 600_000
# Before the clock was set (no battery, no NTP yet), machines start in 1970 or at the turn of the century.
CLOCK_UNSET_MS: Final = 1_000_000_000_000
# No node stays up this long: a hold that does was begun by a clock that was wrong, and would be counted in full.
MAX_HELD_MS: Final = 3 * 366 * 86_400_000
MAX_INTERVAL_MS: Final = 3_600_000
# Slurm's 123, 123_4 and 123+1, and what a node calls its sessions: they stand in commands that people copy.
WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,399}")
NODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,255}")  # one of them: a folded range may stand for any number
MOST_NODES: Final = 100_000
MAX_LETTERS: Final = 2_000
_MOST_SLICES: Final = 1024
_MOST: Final = (1 << 31) - 1
_MOST_GPUS: Final = 1_000_000  # of one run: more than any machine has
_MOST_MIB: Final = 1 << 40
_MOST_W: Final = 100_000.0
_COUNTS: Final = {
    **dict.fromkeys(("elapsed_s", "suspended_s", "timelimit_s", "cpu_s", "alloc_cpus", "restart"), _MOST),
    **dict.fromkeys(("req_gpus", "alloc_gpus"), _MOST_GPUS),
    **dict.fromkeys(("req_mem_mib", "max_rss_mib"), _MOST_MIB),
    "uid": (1 << 32) - 1,
    "db_index": (1 << 63) - 1,
}


def refuse_impossible(segment: Segment, latest_ms: int) -> None:
    """Raises SegmentError where the segment as a whole cannot be right; ``latest_ms``: no moment lies after it."""
    if not 0 < segment.interval_ms <= MAX_INTERVAL_MS:
        raise SegmentError(f"segment refused: a row every {segment.interval_ms} ms is no interval")
    if not CLOCK_UNSET_MS <= segment.first_ms <= segment.last_ms:
        raise SegmentError(f"segment refused: it is said to last from {segment.first_ms} to {segment.last_ms}")
    if not CLOCK_UNSET_MS <= segment.written_ms <= latest_ms:
        raise SegmentError(f"segment refused: it is said to be written at {segment.written_ms}")
    if not all(0 < len(name) <= MAX_LETTERS for name in (segment.cluster, *(each.uuid for each in segment.devices))):
        raise SegmentError("segment refused: its cluster or a GPU has no name, or one without end")
    for device in segment.devices:
        if not 1 <= device.slices <= device.slices_of <= _MOST_SLICES:
            raise SegmentError(f"segment refused: {device.uuid[:80]} is {device.slices} of {device.slices_of} slices")


def why_no_hold(holding: Holding, last_ms: int, latest_ms: int) -> str | None:
    """Returns why a hold cannot be, None where it can: a drop-file gone wrong must not cost its node's rows."""
    if not WORD.fullmatch(holding.job_id):
        return "is no job id"
    end_ms = holding.start_ms if holding.end_ms is None else holding.end_ms
    if not CLOCK_UNSET_MS <= holding.start_ms <= end_ms <= latest_ms or _is_long(holding.start_ms, last_ms):
        return f"is said to hold GPUs from {holding.start_ms} to {holding.end_ms}"
    return None


def without_impossible(segment: Segment, latest_ms: int) -> Segment:
    """Returns the segment with sizes that cannot be as not known, and without what is told of no possible moment.

    Texts are cut to what anybody reads.
    """

    def event(one: Event) -> bool:
        return CLOCK_UNSET_MS <= one.ts_ms <= latest_ms

    def null(one: NullReason) -> bool:
        return CLOCK_UNSET_MS <= one.from_ms <= latest_ms and CLOCK_UNSET_MS <= one.to_ms <= latest_ms

    def probe(one: ProbeRun) -> bool:
        return CLOCK_UNSET_MS <= one.at_ms <= latest_ms and 0 <= one.duration_ms <= _MOST

    def process(one: ProcessSeen) -> bool:
        placed = 0 <= one.device < len(segment.devices) and (
            one.holding is None or 0 <= one.holding < len(segment.holdings)
        )
        sized = 0 <= one.pid <= _MOST and 0 < one.count <= _MOST and 0 <= (one.uid or 0) <= _COUNTS["uid"]
        return placed and sized and CLOCK_UNSET_MS <= one.from_ms <= one.to_ms <= latest_ms

    return msgspec.structs.replace(
        segment,
        agent=segment.agent[:MAX_LETTERS],
        devices=_cut_all(tuple(map(_known, segment.devices))),
        holdings=_cut_all(segment.holdings),
        accounting=_cut_all(segment.accounting),
        events=_cut_all(tuple(filter(event, segment.events))),
        nulls=_cut_all(tuple(filter(null, segment.nulls))),
        processes=_cut_all(tuple(_fitting(one) for one in segment.processes if process(one))),
        probes=_cut_all(tuple(filter(probe, segment.probes))),
        inventory=possible_readings(segment.inventory, CLOCK_UNSET_MS, latest_ms),
    )


def why_impossible(row: AccountingRun, written_ms: int, latest_ms: int) -> str | None:
    """Returns why a row of accounting cannot be, None where it can. The many others of its segment are good."""
    if not (WORD.fullmatch(row.job_id_raw) and WORD.fullmatch(row.job_id)):
        return f"is called {row.job_id[:80]!r}, which is no job id"
    if len(row.nodes) > MOST_NODES or not all(NODE.fullmatch(name) for name in row.nodes):
        return "is said to run on what is no list of nodes"
    if row.start_ms is not None:
        end_ms = row.start_ms if row.end_ms is None else row.end_ms
        longest_to_ms = written_ms if row.end_ms is None else end_ms
        if not CLOCK_UNSET_MS <= row.start_ms <= end_ms <= latest_ms or _is_long(row.start_ms, longest_to_ms):
            return f"is said to run from {row.start_ms} to {row.end_ms}"
    if row.submit_ms is not None and not 0 <= row.submit_ms <= latest_ms:
        return f"is said to be submitted at {row.submit_ms}"
    for name, most in _COUNTS.items():
        value = getattr(row, name)
        # A float may be no number at all: then no comparison holds.
        if value is not None and not 0 <= value <= most:
            return f"is said to have {name} {value}"
    return None


def _is_long(start_ms: int, end_ms: int) -> bool:
    return end_ms - start_ms > MAX_HELD_MS


def _fitting(process: ProcessSeen) -> ProcessSeen:
    used_mib = process.mem_max_mib
    if used_mib is None or 0 <= used_mib <= _MOST:
        return process
    return msgspec.structs.replace(process, mem_max_mib=None)


def cut(one: T) -> T:
    """Returns the part of a segment with its longest texts cut: Slurm's own names have 1024 letters at most."""
    long = {}
    for name in _texts(type(one)):
        value = getattr(one, name)
        if value is not None and len(value) > MAX_LETTERS:
            long[name] = value[:MAX_LETTERS]
    return msgspec.structs.replace(one, **long) if long else one


def _cut_all(parts: tuple[T, ...]) -> tuple[T, ...]:
    """Returns parts of one kind cut. They mostly say the same few short texts, which are looked at once."""
    if not parts:
        return parts
    said = {text for of in _text_getters(type(parts[0])) for text in set(map(of, parts))}
    return parts if all(text is None or len(text) <= MAX_LETTERS for text in said) else tuple(map(cut, parts))


@cache
def _text_getters(kind: type[msgspec.Struct]) -> tuple[Callable[[msgspec.Struct], str | None], ...]:
    return tuple(map(attrgetter, _texts(kind)))


@cache
def _texts(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Returns the fields that are text, or text or None."""
    return tuple(field.name for field in msgspec.structs.fields(kind) if field.type in (str, str | None))


def _known(device: Device) -> Device:
    """Integrated memory is reported as 0 MiB; a driver that fails half-way may report anything."""
    total_mib, limit_w = device.mem_total_mib, device.power_limit_w
    possible_total = total_mib is None or 0 < total_mib <= _MOST
    possible_limit = limit_w is None or (math.isfinite(limit_w) and 0 < limit_w <= _MOST_W)
    possible_rates = 0 < (device.pcie_mib_s or 1) <= _MOST and 0 < (device.nvlink_mib_s or 1) <= _MOST
    if possible_total and possible_limit and possible_rates and device.pcie_mib_s != 0 and device.nvlink_mib_s != 0:
        return device
    rates = {name: rate for name in ("pcie_mib_s", "nvlink_mib_s") if (rate := getattr(device, name)) is not None}
    return msgspec.structs.replace(
        device,
        mem_total_mib=total_mib if possible_total else None,
        power_limit_w=limit_w if possible_limit else None,
        **{name: rate if 0 < rate <= _MOST else None for name, rate in rates.items()},
    )
