"""Memory in use that belongs to nobody: what a GPU holds while it is empty.

The lowest memory since boot with no process listed, at most 1 % of capacity; and memory that was there with no process
behind it before a hold began (a ghost of the run before) belongs to that hold's baseline, not to its user.
"""

from typing import Final

_MOST_SHARE: Final = 0.01


class Baselines:
    """Baselines by device UUID. ``floors_mib`` is shared with the carry-over file."""

    def __init__(self, floors_mib: dict[str, int]) -> None:
        self._floors_mib = floors_mib
        self._empty_mib: dict[str, int] = {}  # the last memory seen with no process listed
        self._at_begin_mib: dict[str, int] = {}  # the same when the present hold began

    def observe(self, uuid: str, used_mib: int, capacity_mib: int | None) -> None:
        """Takes a reading at which no process was listed."""
        self._empty_mib[uuid] = used_mib
        if capacity_mib is not None:
            level_mib = min(used_mib, int(capacity_mib * _MOST_SHARE))
            self._floors_mib[uuid] = min(level_mib, self._floors_mib.get(uuid, level_mib))

    def hold(self, held: set[str]) -> None:
        """Takes the devices that are held from now on; what was in their memory before is remembered at each begin."""
        for uuid in held - self._at_begin_mib.keys():
            self._at_begin_mib[uuid] = self._empty_mib.get(uuid, 0)
        for uuid in self._at_begin_mib.keys() - held:
            del self._at_begin_mib[uuid]

    def of(self, uuid: str) -> int | None:
        """Returns the baseline in MiB that holds now; None while nothing is known."""
        floor_mib = self._floors_mib.get(uuid)
        if floor_mib is None:
            return None
        return max(floor_mib, self._at_begin_mib.get(uuid, 0))
