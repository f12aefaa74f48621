"""The device's energy counter as the energy of each row."""

from typing import Final

from collector.readings import Reason

HEADROOM: Final = 1.25  # short-term power may exceed the limit; 8-13 % of samples of one fleet do
_SETTLE_S: Final = 0.5  # the counter moves in steps, so a short row may hold more than its own time
_UNKNOWN_LIMIT_W: Final = 6500.0  # the catalogue's highest power


class EnergyMeter:
    """Differences of one device's counter (millijoules since the driver was loaded)."""

    def __init__(self) -> None:
        self._base_mj: int | None = None
        self._base_s = 0.0

    def joules(self, counter_mj: int, steady_s: float, highest_w: float | None) -> int | Reason | None:
        """Returns the energy since the last answer, None the first time, or why it cannot be told.

        The remainder below one joule is carried over, so that rows add up to the counter. A counter that went back was
        reset (driver reload): what was spent across the reset is not known. A jump beyond 1.25 x the highest limit is
        refused.
        """
        base_mj, elapsed_s = self._base_mj, steady_s - self._base_s
        if base_mj is None:
            self._start(counter_mj, steady_s)
            return None
        allowed_mj = HEADROOM * (highest_w or _UNKNOWN_LIMIT_W) * (elapsed_s + _SETTLE_S) * 1000
        spent_mj = counter_mj - base_mj
        if not 0 <= spent_mj <= allowed_mj:
            self._start(counter_mj, steady_s)
            return Reason.OUT_OF_RANGE
        joules = spent_mj // 1000
        self._start(base_mj + joules * 1000, steady_s)
        return joules

    def _start(self, counter_mj: int, steady_s: float) -> None:
        self._base_mj, self._base_s = counter_mj, steady_s
