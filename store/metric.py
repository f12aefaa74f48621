"""What a metric is; the list of them is the catalogue's."""

from enum import StrEnum
from typing import Literal

import msgspec

Dtype = Literal["u1", "u2", "u4", "i2", "i4", "i8"]


class Kind(StrEnum):
    """How a metric behaves over time, hence how it is rolled up."""

    GAUGE = "gauge"  # a mean over the row's span: rolled up as a time-weighted mean and a maximum
    DELTA = "delta"  # an amount gathered during the row's span: summed, shared by time where a row is split
    COUNT = "count"  # a number of things seen in the row: maximum only
    FLAGS = "flags"  # a bit mask: seconds with any bit set, and the bits seen


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One catalogue line. ``low`` and ``high`` are in natural units and inclusive."""

    name: str
    unit: str
    dtype: Dtype
    kind: Kind
    low: float
    high: float
    per_unit: int = 1
    label: str
    source: str
    help: str
    is_utilization: bool = False  # takes part in the maximum that decides active, low or idle

    def store(self, natural: float) -> int | None:
        """Returns the scaled integer for a natural value, or None where it is out of range."""
        if not self.low <= natural <= self.high:
            return None
        return round(natural * self.per_unit)
