"""Raw rows of the holds at hand as pieces of time that do not overlap, each with its state.

A row's span is clipped to the allocation and to the row before it, exactly as the hour rollup clips it, so that
footprints and hours add up to the same milliseconds.
"""

from functools import cached_property

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analytics.footprint.groups import Bools, Groups, Ints, Values
from analytics.footprint.holds import Holds
from analytics.footprint.rows import LOW, UTILIZATION_SCALE
from analytics.settings import FootprintSettings
from store.settings import StateSettings


class Column(msgspec.Struct, frozen=True):
    """Values with NULL as 0, and where they are not NULL (None: nowhere)."""

    values: Values
    valid: Bools | None

    @property
    def known(self) -> Bools:
        return np.ones(len(self.values), np.bool_) if self.valid is None else self.valid


class Reading(msgspec.Struct, frozen=True):
    """A column where it is not NULL, the milliseconds that each value stands for, and the groups it lies in."""

    values: Values
    ms: Ints
    groups: Groups


class Pieces:
    """Pieces by hold and time.

    ``reach_ms`` is the time that a row's energy stands for: after a gap that of the gap too. ``since_ms``: from then on
    the run held the GPU without a pause. Columns of the rows are read as they are asked for.
    """

    def __init__(self, rows: pa.Table, holds: Holds, settings: FootprintSettings, states: StateSettings) -> None:
        """Takes rows with column ``number``, the number of their hold, in any order."""
        number, ts_ms, span_ms = (_integers(rows, name) for name in ("number", "ts_ms", "span_ms"))
        number -= holds.first
        order = _order(rows, number, ts_ms, span_ms)
        number, ts_ms, span_ms = (_taken(column, order) for column in (number, ts_ms, span_ms))
        before_ms = ts_ms - span_ms
        follows = np.flatnonzero(number[1:] == number[:-1]) + 1
        before_ms[follows] = ts_ms[follows - 1]
        begin_ms = np.maximum(ts_ms - span_ms, before_ms)
        row, part = _cut(number, begin_ms, ts_ms, holds)
        _, start_ms, end_ms = holds.lasting
        self._rows = rows
        self._row = row if order is None else order if row is None else order[row]
        self._known: dict[str, Column | None] = {}
        self._energy_limit_ratio = settings.energy_limit_ratio
        self._low = round(states.low_pct * UTILIZATION_SCALE)
        self.holds = holds
        self.from_ms = np.maximum(_taken(begin_ms, row), start_ms[part])
        self.to_ms = np.minimum(_taken(ts_ms, row), end_ms[part])
        self.since_ms = start_ms[part]
        self.ms = self.to_ms - self.from_ms
        self.span_ms = _taken(span_ms, row)
        self.reach_ms = np.maximum(self.span_ms, _taken(ts_ms - before_ms, row))
        self.groups = Groups(_taken(number, row), len(holds))

    @property
    def number(self) -> Ints:
        """The hold of each piece, counted from the first of the batch."""
        return self.groups.number

    @cached_property
    def state(self) -> Values:
        """Codes of STATES."""
        column = self.column("state")
        return np.empty(0, np.int8) if column is None else column.values

    @cached_property
    def busy_ms(self) -> Ints:
        """The part of a busy piece in which readings were at 1 % or more; all of it where the row does not say."""
        busy_ms = np.where(self.state >= LOW, self.ms, 0)
        below, util = self.column("util_below1_ratio"), self.column("util_pct")
        if below is not None and util is not None:
            # An encoder's work says nothing of when the GPU itself worked.
            told = np.flatnonzero((busy_ms > 0) & below.known & (util.values >= self._low))
            busy_ms[told] = self.ms[told] * (1000 - below.values[told].astype(np.int64)) // 1000
        return busy_ms

    @cached_property
    def energy_mj(self) -> Column:
        """The energy of each piece by the counter, not known where it says more than the GPU can draw."""
        column = self.column("energy_j")
        if column is None:
            return Column(np.zeros(len(self.ms), np.int64), np.zeros(len(self.ms), np.bool_))
        energy = column.values.astype(np.int64) * 1000
        most_w = self.holds.power_limit_w * self._energy_limit_ratio
        refused = energy / self.reach_ms > most_w[self.number]  # NaN, a limit that is not known, refuses nothing
        cut = np.flatnonzero(self.ms != self.span_ms)
        energy[cut] = energy[cut] * self.ms[cut] // self.span_ms[cut]
        known = column.known & ~refused
        return Column(np.where(known, energy, 0), None if known.all() else known)

    def column(self, name: str) -> Column | None:
        """Returns a column, None where all of it is NULL."""
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def reading(self, name: str) -> Reading | None:
        """Returns the pieces that have a value in this column; None where none has."""
        column = self.column(name)
        if column is None:
            return None
        if column.valid is None:
            return Reading(column.values, self.ms, self.groups)
        groups = Groups(self.number[column.valid], self.groups.count)
        return Reading(column.values[column.valid], self.ms[column.valid], groups)

    def _read(self, name: str) -> Column | None:
        array = self._rows[name].combine_chunks()
        if array.null_count == len(array):
            return None
        valid = None
        if array.null_count:
            valid = _taken(array.is_valid().to_numpy(zero_copy_only=False), self._row)
            array = pc.fill_null(array, 0 if array.type != pa.bool_() else False)
        return Column(_taken(array.to_numpy(zero_copy_only=False), self._row), valid)


def _order(rows: pa.Table, number: Ints, ts_ms: Ints, span_ms: Ints) -> Ints | None:
    """Returns the order of the rows by hold and time (states.ROW_ORDER); None where they lie in it.

    Sealed rows of a day do, and stretches of them are merged; only rows of one moment need to be looked at closely.
    """
    if not len(ts_ms):
        return None
    base = int(ts_ms.min())
    key = number * (int(ts_ms.max()) - base + 1) + (ts_ms - base)
    step = np.diff(key)
    if (step > 0).all():
        return None
    order = np.argsort(key, kind="stable")
    if (np.diff(key[order]) > 0).all():
        return order
    kindest = [_highest_first(rows, name) for name in ("power_w", "mem_used_mib", "util_pct")]
    return np.lexsort((*kindest, -span_ms, ts_ms, number))


def _highest_first(rows: pa.Table, name: str) -> Ints:
    """NULL comes last."""
    found: Ints = -pc.fill_null(rows[name].cast(pa.int64()), -1).to_numpy()
    return found


def _cut(number: Ints, begin_ms: Ints, ts_ms: Ints, holds: Holds) -> tuple[Ints | None, Ints]:
    """Returns the row of each piece (None: each row is one) and the stretch of its hold that it lies in.

    Half a row may lie in a pause: what is left of it is one piece on each side.
    """
    held, start_ms, end_ms = holds.lasting
    first = np.searchsorted(held, np.arange(len(holds)))
    stretches = np.searchsorted(held, np.arange(len(holds)), side="right") - first
    part, parts = first[number], stretches[number]
    several = np.flatnonzero(parts > 1)
    if several.size:
        base = min(int(start_ms.min()), int(begin_ms.min()))
        width = max(int(end_ms.max()), int(ts_ms.max())) - base + 1
        line = number[several] * width - base
        part[several] = np.searchsorted(held * width + end_ms - base, line + begin_ms[several], side="right")
        upto = np.searchsorted(held * width + start_ms - base, line + ts_ms[several], side="left")
        parts[several] = np.maximum(upto - part[several], 0)
    safe = np.minimum(part, max(len(held) - 1, 0))
    single = parts == 1
    if len(held):
        outside = (start_ms[safe] >= ts_ms) | (end_ms[safe] <= begin_ms)
        parts[single & outside] = 0
    parts[begin_ms >= ts_ms] = 0
    if (parts == 1).all():
        return None, part
    row = np.repeat(np.arange(len(number)), parts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(parts) - parts, parts)
    return row, part[row] + within


def _integers(rows: pa.Table, name: str) -> Ints:
    found: Ints = rows[name].to_numpy().astype(np.int64)
    return found


def _taken(values: Values, order: Ints | None) -> Values:
    return values if order is None else values[order]
