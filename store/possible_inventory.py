"""What a reading of the inventory may say at all: see possible.py."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from store.segment import AccountUsage, InventoryReading, NodeSeen, PartitionSeen, ReservationSeen

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,255}")
_MOST_LETTERS: Final = 2_000
_MOST_GPUS: Final = 1024  # of one node
_MOST: Final = (1 << 31) - 1
_MOST_MIB: Final = 1 << 32
_MOST_GPU_S: Final = 100_000 * 86_400  # of a day
_MOST_THINGS: Final = 100_000  # nodes, partitions, reservations, accounts of one reading
_MOST_CALLS: Final = 1_000
_YEAR_MS: Final = 366 * 86_400_000
_SIZES: Final = {"gpus_used": _MOST_GPUS, "cpus": _MOST, "cpus_used": _MOST, "mem_mib": _MOST_MIB}


def possible_readings(
    readings: Iterable[InventoryReading], earliest_ms: int, latest_ms: int
) -> tuple[InventoryReading, ...]:
    """Returns the readings of moments that can be, without what in them cannot."""

    def at(moment: int | None) -> bool:
        return moment is None or earliest_ms <= moment <= latest_ms

    def node(one: NodeSeen) -> bool:
        named = _NAME.fullmatch(one.name) and 0 < len(one.state) <= _MOST_LETTERS
        sized = all(group.count >= 0 for group in one.gpus) and sum(group.count for group in one.gpus) <= _MOST_GPUS
        return bool(named) and sized and at(one.at_ms)

    def times(one: NodeSeen) -> NodeSeen:
        unknown: dict[str, None] = {name: None for name in ("reason_ms", "boot_ms") if not at(getattr(one, name))}
        sizes = {**_SIZES, "mem_used_mib": _MOST_MIB}
        unknown |= {
            name: None
            for name, most in sizes.items()
            if (value := getattr(one, name)) is not None and not 0 <= value <= most
        }
        return msgspec.structs.replace(one, **unknown) if unknown else one

    return tuple(
        msgspec.structs.replace(
            each,
            nodes=tuple(_short(times(one)) for one in each.nodes[:_MOST_THINGS] if node(one)),
            partitions=tuple(one for one in each.partitions[:_MOST_THINGS] if _is_partition(one)),
            reservations=tuple(
                one for one in each.reservations[:_MOST_THINGS] if _is_reservation(one, earliest_ms, latest_ms)
            ),
            accounts=tuple(
                one
                for one in each.accounts[:_MOST_THINGS]
                if all(0 < len(name) <= _MOST_LETTERS for name in (one.cluster, one.name))
                and len(one.parent or "") <= _MOST_LETTERS
            ),
            usage=tuple(one for one in each.usage[:_MOST_THINGS] if _is_usage(one) and at(one.day_ms)),
            calls=min(max(each.calls, 0), _MOST_CALLS),
        )
        for each in readings
        if at(each.at_ms)
    )


def _short(node: NodeSeen) -> NodeSeen:
    long = {
        name: value[:_MOST_LETTERS]
        for name in ("reason", "version")
        if isinstance(value := getattr(node, name), str) and len(value) > _MOST_LETTERS
    }
    return msgspec.structs.replace(node, **long) if long else node


def _is_usage(one: AccountUsage) -> bool:
    named = all(0 < len(name) <= _MOST_LETTERS for name in (one.cluster, one.account))
    return named and 0 <= one.gpu_s <= _MOST_GPU_S


def _is_partition(one: PartitionSeen) -> bool:
    return (
        0 < len(one.name) <= _MOST_LETTERS
        and len(one.nodes) <= _MOST_THINGS
        and 0 <= (one.max_time_s or 0) <= _MOST
        and len(one.state or "") <= _MOST_LETTERS
    )


def _is_reservation(one: ReservationSeen, earliest_ms: int, latest_ms: int) -> bool:
    """A reservation may lie ahead, but none is made for years."""
    named = 0 < len(one.name) <= _MOST_LETTERS and len(one.nodes) <= _MOST_THINGS
    return named and earliest_ms - _YEAR_MS <= one.start_ms <= one.end_ms <= latest_ms + 10 * _YEAR_MS
