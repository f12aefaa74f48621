"""Gaps: time without a usable utilization reading, and whether the energy counter shows that the GPU idled in it.

"Never used" says something about every second, so it needs the seconds that nobody saw.

The agent's energy of a row is the counter's difference to the row before it, so the first row after a gap carries the
energy of the gap. A gap is closed where the mean power from its begin to the end of that row lies within a share of the
GPU's idle rows; both ways, since a difference that leaves the gap out would look too low. It stays unsaid where that
row has no energy (the agent was started anew) or no row follows.
"""

from typing import Final

import numpy as np
import pyarrow as pa

from analytics.footprint.figures import Figures, array, ratio
from analytics.footprint.groups import Bools, Floats, Groups, Ints
from analytics.footprint.pieces import Pieces
from analytics.footprint.rows import IDLE, IDLE_HELD, UNKNOWN
from analytics.settings import FootprintSettings
from store.catalog import BY_NAME

_POWER: Final = BY_NAME["power_w"].per_unit


def gaps(pieces: Pieces, settings: FootprintSettings) -> Figures:
    """Returns the longest gap of each hold, and whether all long ones are closed; NULL where that cannot be said."""
    holds, gap_ms = pieces.holds, round(settings.gap_s * 1000)
    known = np.flatnonzero(pieces.state > UNKNOWN)
    groups = Groups(pieces.number[known], len(holds))
    before_ms, first = np.empty(len(known), np.int64), np.empty(len(known), np.int64)
    before_ms[1:], first[1:] = pieces.to_ms[known][:-1], known[:-1] + 1
    before_ms[groups.starts] = holds.start_ms[groups.found]
    first[groups.starts] = pieces.groups.spread(pieces.groups.starts)[groups.found]
    length_ms = pieces.from_ms[known] - before_ms
    # No row follows the last piece that could close what comes then; of a run that lasts it is no gap yet.
    last_ms = holds.start_ms.copy()
    last_ms[groups.found] = pieces.to_ms[known][groups.starts + groups.sizes - 1]
    rest_ms = np.where(holds.finished, holds.end_ms - last_ms, 0)
    long = np.flatnonzero(length_ms > gap_ms)
    closed, said = _closed(pieces, first[long], known[long], before_ms[long], settings)
    number = groups.number[long]
    some_open = np.bincount(number[said & ~closed], minlength=len(holds)) > 0
    some_unsaid = (np.bincount(number[~said], minlength=len(holds)) > 0) | (rest_ms > gap_ms)
    return {
        "longest_gap_ms": pa.array(np.maximum(groups.most(length_ms), rest_ms)),
        "gaps_closed": array(~some_open, some_open | ~some_unsaid),
    }


def _closed(pieces: Pieces, first: Ints, last: Ints, from_ms: Ints, settings: FootprintSettings) -> tuple[Bools, Bools]:
    """Returns of each gap whether it is closed, and whether that can be said.

    ``first`` to ``last`` are the pieces from its begin on: rows without a reading of utilization, which have energy of
    their own, and the row that ends it.
    """
    energy = pieces.energy_mj
    upto = np.concatenate([[0], np.cumsum(energy.values)])
    spent_w = (upto[last + 1] - upto[first]) / (pieces.to_ms[last] - from_ms)
    idle_w = _idle_power_w(pieces)[pieces.number[last]]
    said = energy.known[last] & ~np.isnan(idle_w)
    return np.abs(spent_w - idle_w) <= idle_w * settings.gap_power_ratio, said


def _idle_power_w(pieces: Pieces) -> Floats:
    """Returns what each GPU drew while it was idle; NaN where that was never read."""
    power = pieces.column("power_w")
    idle = (pieces.state == IDLE) | (pieces.state == IDLE_HELD)
    if power is None:
        return np.full(pieces.groups.count, np.nan)
    read_ms = np.where(idle & power.known, pieces.ms, 0)
    ms = pieces.groups.sum(read_ms)
    return np.where(ms > 0, ratio(pieces.groups.sum(power.values * read_ms), _POWER, ms), np.nan)
