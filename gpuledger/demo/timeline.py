"""What one GPU does over a window, run after run, and its running totals."""

from typing import Final

import msgspec
import numpy as np

from gpuledger.demo.cluster import GpuModel
from gpuledger.demo.mechanisms import activity
from gpuledger.demo.mechanisms.activity import UNTOUCHED, Activity
from gpuledger.demo.noise import Floats, Ints, floats

# Columns of totals: integrals over time of these.
EXCESS: Final = 8  # watts above idle without a context; the ones before it are the columns of Activity.levels
TOTALS: Final = 9

# How watts arise: a running kernel costs a little by itself (a GPU that spins in a collective draws hardly more than at
# rest with a context), the rest comes from full SMs and from memory traffic.
_PER_BUSY, _PER_SM, _PER_DRAM = 0.05, 0.75, 0.34


class Stay(msgspec.Struct, frozen=True):
    """One run's time on one GPU; ``owner`` is the run's place in the caller's list."""

    owner: int
    start_s: int
    end_s: int
    activity: Activity


class Timeline(msgspec.Struct, frozen=True):
    """Pieces from ``edges_s[i]`` to ``edges_s[i + 1]``, epoch seconds; owner -1: none; totals up to each edge."""

    edges_s: Floats
    levels: Floats
    owners: Ints
    rates: Floats
    totals: Floats

    def pieces(self, times_s: Floats) -> Ints:
        """Returns the piece that holds just before each moment."""
        return np.searchsorted(self.edges_s, times_s, "left") - 1

    def totals_at(self, times_s: Floats, pieces: Ints) -> Floats:
        """Returns totals up to each moment, shape (len(times_s), TOTALS)."""
        into: Floats = self.totals[pieces] + self.rates[pieces] * (times_s - self.edges_s[pieces])[:, None]
        return into


def timeline(stays: list[Stay], model: GpuModel, from_s: int, to_s: int) -> Timeline:
    """Lays the stays of one GPU, in order of start, over [from_s, to_s); between them nobody touches it."""
    nobody = floats([UNTOUCHED.row()])
    edges, levels, owners = [floats([from_s])], [], []
    at = float(from_s)
    for stay in stays:
        start, end = max(stay.start_s, from_s), min(stay.end_s, to_s)
        if start > at:
            edges.append(floats([start]))
            levels.append(nobody)
            owners.append(np.array([-1]))
        own = stay.activity.edges_s + stay.start_s
        first, last = int(np.searchsorted(own, start, "right")), int(np.searchsorted(own, end, "left"))
        edges.append(np.append(own[first:last], float(end)))
        levels.append(stay.activity.levels[first - 1 : last])
        owners.append(np.full(last - first + 1, stay.owner))
        at = float(end)
    if to_s > at:
        edges.append(floats([to_s]))
        levels.append(nobody)
        owners.append(np.array([-1]))
    return _with_totals(np.concatenate(edges), np.concatenate(levels), np.concatenate(owners), model)


def _with_totals(edges: Floats, levels: Floats, owners: Ints, model: GpuModel) -> Timeline:
    work = (
        _PER_BUSY * levels[:, activity.BUSY] + _PER_SM * levels[:, activity.SM] + _PER_DRAM * levels[:, activity.DRAM]
    )
    room_w = model.limit_w - model.idle_w - model.context_w
    excess = model.context_w * (levels[:, activity.PROCESSES] > 0) + room_w * np.minimum(work, 1.0)
    rates = np.column_stack((levels[:, : activity.LINK + 1], excess))
    totals = np.zeros((len(edges), TOTALS))
    np.cumsum(rates * np.diff(edges)[:, None], axis=0, out=totals[1:])
    return Timeline(edges, levels, owners, rates, totals)
