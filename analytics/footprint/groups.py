"""Sums, extremes and percentiles of values that lie in order of their group, one result a group.

Groups are the holds of a batch. DuckDB's hash aggregates touch a state for each row and figure; over sorted columns
numpy's reduceat takes a tenth of that, and the integers are the same.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Values = npt.NDArray[Any]
_Ranked = Callable[[Ints], Any]

_BINS_A_VALUE: Final = 4
"""Bins a value up to which counting is cheaper than sorting: the bins are summed up as well."""


class Groups:
    """Where each group's values lie; a group may have none."""

    def __init__(self, number: Ints, count: int) -> None:
        """Takes the group of each value, in ascending order, and how many groups there are."""
        self.count = count
        self.number = number
        self.starts = firsts(number)
        self.found = number[self.starts]
        """Groups that have values, in order of ``starts``."""
        self.sizes = np.diff(self.starts, append=len(number))

    def spread(self, found: Values, empty: Any = 0) -> Values:
        """Returns one value a group from one for each of ``found``."""
        whole = np.full(self.count, empty, dtype=found.dtype)
        whole[self.found] = found
        return whole

    def sum(self, values: Values) -> Ints:
        """Returns the sums as 64-bit integers; 0 where a group is empty."""
        return self.spread(_reduce(np.add, values, self.starts, np.int64))

    def least(self, values: Values, empty: int = 0) -> Values:
        return self.spread(_reduce(np.minimum, values, self.starts, values.dtype), empty)

    def most(self, values: Values, empty: int = 0) -> Values:
        return self.spread(_reduce(np.maximum, values, self.starts, values.dtype), empty)

    def any(self, values: Bools) -> Bools:
        return self.spread(_reduce(np.logical_or, values, self.starts, np.bool_), empty=False)

    def sizes_of_all(self) -> Ints:
        """Returns how many values each group has."""
        return self.spread(self.sizes)

    def percentiles(self, values: Values, shares: Sequence[float]) -> list[Floats]:
        """Returns percentiles of integers, linear between two values (type 7); NaN where a group is empty.

        By counting: each group has a bin a value between its least and its most. Where that is too many bins for so few
        values, as of memory that grows by gigabytes, they are sorted.
        """
        if not len(values):
            return [np.full(self.count, np.nan) for _ in shares]
        low = _reduce(np.minimum, values, self.starts, np.int64)
        width = _reduce(np.maximum, values, self.starts, np.int64) - low + 1
        base = np.cumsum(width) - width - low  # a group's bins follow those of the group before it
        place = values + np.repeat(base, self.sizes)
        bins = int(width.sum())
        if bins <= _BINS_A_VALUE * len(values):
            place_of: _Ranked = partial(np.searchsorted, np.cumsum(np.bincount(place, minlength=bins)), side="right")
        else:
            place.sort()
            place_of = place.__getitem__
        return [self._between(place_of, base, share) for share in shares]

    def _between(self, place_of: _Ranked, base: Ints, share: float) -> Floats:
        rank = (self.sizes - 1) * share
        below = np.floor(rank).astype(np.int64)
        low = (place_of(self.starts + below) - base).astype(np.float64)
        high = place_of(self.starts + np.ceil(rank).astype(np.int64)) - base
        return self.spread(low + (high - low) * (rank - below), np.nan)


def firsts(*columns: Values) -> Ints:
    """Returns where a value differs from the one before it in any of the columns; the first always does."""
    if not len(columns[0]):
        return np.empty(0, np.int64)
    differs = np.zeros(len(columns[0]), np.bool_)
    differs[0] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(differs)


def _reduce(operation: np.ufunc, values: Values, starts: Ints, kind: Any) -> Values:
    if not len(starts):
        return np.empty(0, kind)
    found: Values = operation.reduceat(values, starts, dtype=kind)
    return found
