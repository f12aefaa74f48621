"""Amounts per row out of the driver's running counters: of energy, of bytes."""

from typing import Final

from collector.readings import Reason

HEADROOM: Final = 1.25  # short-term power may exceed the limit; 8-13 % of samples of one fleet do
_SETTLE_S: Final = 0.5  # counters move in steps, so a short row may hold more than its own time
_WIDE: Final = 64


class Counter:
    """Differences of one counter of one device, in whole units of ``per_unit`` counts.

    The remainder below one unit is carried over, so that rows add up to the counter.
    """

    def __init__(self, per_unit: int) -> None:
        self._per_unit = per_unit
        self._base: int | None = None
        self._base_s = 0.0

    def amount(self, count: int, steady_s: float, most_per_s: float, bits: int = _WIDE) -> int | Reason | None:
        """Returns the units since the last answer, None the first time, or why they cannot be told.

        A counter that went back was reset (driver reload): what was counted across the reset is not known. One of
        32 bits may also have begun anew at its end, and can be read only where it cannot do so twice in between.

        Args:
            count: the counter now.
            steady_s: when that is.
            most_per_s: counts a second that the device can do; more than 1.25 times that is refused.
            bits: how wide the counter is.
        """
        base, elapsed_s = self._base, steady_s - self._base_s
        if base is None:
            self._start(count, steady_s)
            return None
        most = HEADROOM * most_per_s * (elapsed_s + _SETTLE_S)
        spent = count - base
        if bits < _WIDE:
            if most >= 1 << bits:
                self._start(count, steady_s)
                return Reason.WRAPS
            spent %= 1 << bits
        if not 0 <= spent <= most:
            self._start(count, steady_s)
            return Reason.OUT_OF_RANGE
        units = spent // self._per_unit
        self._start(count - spent % self._per_unit, steady_s)
        return units

    def _start(self, count: int, steady_s: float) -> None:
        self._base, self._base_s = count, steady_s
