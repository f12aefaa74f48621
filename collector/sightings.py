"""The compute processes that one segment saw: each from its first to its last sight, at most so many a device."""

from typing import Final

import msgspec

from collector.readings import GpuProcess
from store.segment import ProcessSeen

MOST: Final = 64
"""Processes of a device that are told one by one; the others are counted. More than that start and end within a minute
where a program makes one for each of many small pieces of work."""


class Sightings:
    """Gathers processes by device and PID. One that has ended since keeps the name and owner that it had."""

    def __init__(self) -> None:
        self._seen: dict[int, dict[int, ProcessSeen]] = {}
        self._others: dict[int, _Others] = {}

    def note(self, at_ms: int, device: int, process: GpuProcess, holding: int | None) -> None:
        """Takes a sight of a process; ``holding`` is the position of its hold, where that is known."""
        seen = self._seen.setdefault(device, {})
        known = seen.get(process.pid)
        if known is None and len(seen) >= MOST:
            self._others.setdefault(device, _Others(at_ms, holding)).note(at_ms, process.pid)
            return
        if known is None:
            known = ProcessSeen(device=device, pid=process.pid, from_ms=at_ms, to_ms=at_ms, holding=holding)
        seen[process.pid] = msgspec.structs.replace(
            known,
            name=process.name or known.name,
            uid=known.uid if process.uid is None else process.uid,
            to_ms=at_ms,
            mem_max_mib=_larger(known.mem_max_mib, process.used_mib),
        )

    def told(self) -> tuple[ProcessSeen, ...]:
        """Returns what a segment says of them."""
        one_by_one = [process for seen in self._seen.values() for process in seen.values()]
        return (*one_by_one, *(others.told(device) for device, others in self._others.items()))


class _Others:
    """The processes of a device beyond MOST."""

    def __init__(self, at_ms: int, holding: int | None) -> None:
        self._from_ms = self._to_ms = at_ms
        self._holding = holding
        self._pids: set[int] = set()

    def note(self, at_ms: int, pid: int) -> None:
        self._to_ms = at_ms
        self._pids.add(pid)

    def told(self, device: int) -> ProcessSeen:
        return ProcessSeen(
            device=device,
            pid=0,
            from_ms=self._from_ms,
            to_ms=self._to_ms,
            holding=self._holding,
            count=len(self._pids),
        )


def _larger(one: int | None, other: int | None) -> int | None:
    return max((size for size in (one, other) if size is not None), default=None)
