"""Time in which a GPU looks busy and does next to nothing.

Utilization is the share of time in which a kernel ran, however small: a collective that spins for a lost peer, or a
stream of tiny kernels, reads 100 %. Counters of the SMs and of memory traffic tell it from work; where the device has
none, its power does, against what the same GPU drew at rest with a context in the same run.
"""

from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from analytics.footprint.figures import Figures, array, ratio
from analytics.footprint.groups import Bools, Floats, Groups, Ints, Values, firsts
from analytics.footprint.pieces import Pieces
from analytics.footprint.rows import IDLE, IDLE_HELD, LOW, UTILIZATION_SCALE
from analytics.footprint.stretches import after_gaps
from analytics.settings import FootprintSettings
from store.catalog import BY_NAME

_SM: Final = BY_NAME["sm_active_pct"].per_unit
_DRAM: Final = BY_NAME["dram_active_pct"].per_unit
_TENSOR: Final = BY_NAME["tensor_active_pct"].per_unit
_MEM_UTIL: Final = BY_NAME["mem_util_pct"].per_unit
_POWER: Final = BY_NAME["power_w"].per_unit
_WORKS: Final = 0.5
"""Share of the power limit that no GPU draws at rest: from there on it works, whatever it draws at rest."""


class _Looks:
    """Pieces that look busy. A reading that is not known is NaN, of which no comparison holds."""

    def __init__(self, pieces: Pieces, at: Ints) -> None:
        self._pieces = pieces
        self._at = at
        self.number = pieces.number[at]
        self.from_ms, self.to_ms, self.ms = pieces.from_ms[at], pieces.to_ms[at], pieces.ms[at]
        self.span_ms = pieces.span_ms[at]

    def __len__(self) -> int:
        return len(self._at)

    def part(self, chosen: Bools) -> "_Looks":
        return _Looks(self._pieces, self._at[chosen])

    def value(self, name: str) -> Floats:
        column = self._pieces.column(name)
        if column is None:
            return np.full(len(self._at), np.nan)
        values = column.values[self._at].astype(np.float64)
        return values if column.valid is None else np.where(column.valid[self._at], values, np.nan)

    def moved(self, name: str) -> Floats:
        """What went over a link, by time where a row was cut."""
        moved: Floats = self.value(name) * self.ms / self.span_ms
        return moved


class _Rest(msgspec.Struct, frozen=True):
    counted: Bools  # whether the hold's GPU has counters of SMs and of memory traffic
    power_w: Floats  # at rest with a context; NaN where that was never seen


def hollow(pieces: Pieces, settings: FootprintSettings) -> Figures:
    """Returns hollow time of each hold, NULL where it has no rows.

    ``hollow_unsaid_ms`` is busy time of which neither counters nor power say enough.
    """
    rest = _at_rest(pieces)
    looks = _busy_looks(pieces, settings)
    counted = rest.counted[looks.number]
    by_counters, by_power = looks.part(counted), looks.part(~counted)
    is_hollow, is_unsaid = np.zeros(len(looks), np.bool_), np.zeros(len(looks), np.bool_)
    is_hollow[counted] = _does_little(by_counters, pieces, settings)
    is_hollow[~counted], is_unsaid[~counted] = _draws_little(by_power, pieces, rest, settings)
    unsaid = Groups(looks.number[is_unsaid], pieces.groups.count)
    return {
        **_stretches(looks.part(is_hollow), pieces.groups, settings),
        "rest_power_w": array(rest.power_w, ~np.isnan(rest.power_w)),
        "hollow_unsaid_ms": array(unsaid.sum(looks.ms[is_unsaid]), unsaid.sizes_of_all() > 0),
    }


def _at_rest(pieces: Pieces) -> _Rest:
    groups = pieces.groups
    counters = [pieces.column(name) for name in ("sm_active_pct", "dram_active_pct")]
    counted = np.ones(groups.count, np.bool_)
    for column in counters:
        counted &= False if column is None else groups.any(column.known)
    processes, power = pieces.column("processes"), pieces.column("power_w")
    if processes is None or power is None:
        return _Rest(counted, np.full(groups.count, np.nan))
    rests = ((pieces.state == IDLE) | (pieces.state == IDLE_HELD)) & (processes.values > 0)
    # The row in which the context came still holds power without one.
    rested = np.zeros_like(rests)
    rested[1:] = rests[:-1] & (pieces.number[1:] == pieces.number[:-1])
    read_ms = np.where(rests & rested & power.known, pieces.ms, 0)
    ms = groups.sum(read_ms)
    return _Rest(counted, np.where(ms > 0, ratio(groups.sum(power.values * read_ms), _POWER, ms), np.nan))


def _busy_looks(pieces: Pieces, settings: FootprintSettings) -> _Looks:
    util = pieces.column("util_pct")
    if util is None:
        return _Looks(pieces, np.empty(0, np.int64))
    busy = (pieces.state >= LOW) & (util.values >= round(settings.hollow_util_pct * UTILIZATION_SCALE))
    engines = pieces.column("engines")
    if engines is not None:  # video engines at work are no appearance
        busy &= engines.values < round(settings.hollow_sm_pct * UTILIZATION_SCALE)
    return _Looks(pieces, np.flatnonzero(busy))


def _does_little(looks: _Looks, pieces: Pieces, settings: FootprintSettings) -> Bools:
    """By the counters: no traffic to memory, and few SMs at work or a run of several GPUs that waits for others."""
    little: Bools = looks.value("dram_active_pct") < round(settings.hollow_dram_pct * _DRAM)
    quiet = looks.part(little)
    sm = quiet.value("sm_active_pct")
    little[little] = (sm < round(settings.hollow_sm_pct * _SM)) | _waits(quiet, sm, pieces, settings)
    return little


def _waits(looks: _Looks, sm: Floats, pieces: Pieces, settings: FootprintSettings) -> Bools:
    """Whether pieces of a run of several GPUs spin for the others.

    Kernels of a collective keep more processors than a tenth busy, and neither compute nor move anything. What goes
    over links that a GPU does not have is nothing.
    """
    holds, number = pieces.holds, looks.number
    nvlink_mib_s = holds.nvlink_mib_s[number]
    nvlink = looks.moved("nvlink_rx_mib") + looks.moved("nvlink_tx_mib")
    nvlink = np.where(np.isnan(nvlink) & np.isnan(nvlink_mib_s), 0, nvlink)
    sent = looks.moved("pcie_rx_mib") + looks.moved("pcie_tx_mib") + nvlink
    carried = 2 * (holds.pcie_mib_s[number] + np.nan_to_num(nvlink_mib_s)) * looks.ms / 1000.0
    waits: Bools = (
        (holds.gpus[number] > 1)
        & (sm < round(settings.hollow_wait_sm_pct * _SM))
        & (looks.value("tensor_active_pct") < round(settings.hollow_wait_tensor_pct * _TENSOR))
        & (sent < settings.hollow_wait_link_ratio * carried)
    )
    return waits


def _draws_little(looks: _Looks, pieces: Pieces, rest: _Rest, settings: FootprintSettings) -> tuple[Bools, Bools]:
    """By power: hollow, and busy pieces of which it cannot be said."""
    limit_w, rest_w = pieces.holds.power_limit_w[looks.number], rest.power_w[looks.number]
    power_w = looks.value("power_w") / float(_POWER)
    quiet = looks.value("mem_util_pct") <= round(settings.hollow_mem_util_pct * _MEM_UTIL)
    least_w = rest_w + settings.hollow_power_ratio * (limit_w - rest_w)
    cannot_say = np.isnan(power_w) | np.isnan(least_w)
    return quiet & (power_w < least_w), quiet & cannot_say & ~(power_w >= _WORKS * limit_w)


def _stretches(found: _Looks, groups: Groups, settings: FootprintSettings) -> Figures:
    """Hollow pieces without a gap between make a stretch; short ones are passed over."""
    starts = firsts(found.number, after_gaps(found.from_ms, found.to_ms, settings.gap_s))
    line = Groups(np.repeat(np.arange(len(starts)), np.diff(starts, append=len(found))), len(starts))
    line_ms = line.sum(found.ms)
    long = line_ms >= round(settings.stretch_s * 1000)
    kept = found.part(long[line.number])
    of_hold = Groups(kept.number, groups.count)
    ms = of_hold.sum(kept.ms)
    longest = Groups(found.number[starts], groups.count).most(np.where(long, line_ms, 0))
    read, some = groups.sizes_of_all() > 0, ms > 0
    return {
        "hollow_ms": array(ms, read),
        "hollow_longest_ms": array(longest, read),
        "hollow_from_ms": array(of_hold.least(kept.from_ms), some),
        "hollow_to_ms": array(of_hold.most(kept.to_ms), some),
        "hollow_sm_pct": _mean(kept, "sm_active_pct", _SM, of_hold, ms),
        "hollow_power_w": _mean(kept, "power_w", _POWER, of_hold, ms),
    }


def _mean(kept: _Looks, name: str, per_unit: int, groups: Groups, ms: Ints) -> pa.Array:
    values = kept.value(name)
    known = ~np.isnan(values)
    total: Values = groups.sum(np.where(known, values, 0).astype(np.int64) * kept.ms)
    return array(ratio(total, per_unit, ms), groups.any(known))
