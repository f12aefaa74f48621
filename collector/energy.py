"""The device's energy counter as the energy of each row."""

from typing import Final

from collector.counters import Counter
from collector.readings import Reason

_UNKNOWN_LIMIT_W: Final = 6500.0  # the catalogue's highest power
_MJ_PER_J: Final = 1000


class EnergyMeter:
    """Differences of one device's counter (millijoules since the driver was loaded)."""

    def __init__(self) -> None:
        self._counter = Counter(_MJ_PER_J)

    def joules(self, counter_mj: int, steady_s: float, highest_w: float | None) -> int | Reason | None:
        """Returns the energy since the last answer, None the first time, or why it cannot be told."""
        return self._counter.amount(counter_mj, steady_s, (highest_w or _UNKNOWN_LIMIT_W) * _MJ_PER_J)
