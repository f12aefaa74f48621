"""What the parts of a GPU do, by its hardware counters (GPM): Hopper and later, MIG mode or not.

A GPU whose one kernel waits is as busy as one that computes, by utilization; these tell them apart. Two samples of the
counters give the mean between them, so a row costs one sample. Samples less than 0.1 s apart say nothing (nvml.h).
"""

import math
from typing import Final

from collector.inventory import Inventory
from collector.nvml import ActivityPair, Gpu
from collector.probes import Context
from collector.readings import DriverLost, Moment, Reason, Report, Values
from store.catalog import BY_NAME

LEAST_S: Final = 0.1
MOST_PCT: Final = 105.0
"""Shares up to this are rounding; more is a bad sample, such as 175 % on a MIG instance, and is not averaged."""
_SHARES: Final = {
    "gr_active_pct": 1,
    "sm_active_pct": 2,
    "sm_occupancy_pct": 3,
    "tensor_active_pct": 5,
    "dram_active_pct": 10,
}
_RATES: Final = {"pcie_tx_mib": 20, "pcie_rx_mib": 21}  # MiB a second: the counters in bytes wrap around too fast
_METRICS: Final = (*_SHARES, *_RATES)
_IDS: Final = (*_SHARES.values(), *_RATES.values())


class _Track:
    """The counters of one device; ``refused`` is why they cannot be had, for good."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.pair: ActivityPair | None = None
        self.refused: Reason | None = None
        self.last_s = 0.0

    def read(self, moment: Moment) -> Values:
        if self.refused is not None:
            return self._refusal(self.refused)
        if self.pair is None:
            return self._begin(moment)
        elapsed_s = moment.steady_s - self.last_s
        if elapsed_s < LEAST_S:
            return self._not_now()
        told = self.gpu.activity(self.pair, _IDS)
        if isinstance(told, Reason):
            return self._refusal(told)
        self.last_s = moment.steady_s
        values: Values = {}
        for metric, value in zip(_METRICS, told, strict=True):
            values[metric] = _stored(metric, value, elapsed_s)
        if self.gpu.is_instance:
            # Utilization of the GPU is not to be had in MIG mode; the engine's is the instance's own, of all the time.
            values["util_pct"] = values["gr_active_pct"]
            values["util_watched_ms"] = round(elapsed_s * 1000)
        return values

    def _begin(self, moment: Moment) -> Values:
        """Takes the first sample, which only primes."""
        pair = self.gpu.activity_pair()
        if isinstance(pair, Reason):
            self.refused = pair if pair is Reason.NOT_SUPPORTED else None
            return self._refusal(pair)
        self.pair, self.last_s = pair, moment.steady_s
        return self._not_now()

    def _not_now(self) -> Values:
        # Without a word here a row that falls into this would say that the instance's utilization cannot be had at all.
        return {"util_pct": Reason.FAILED} if self.gpu.is_instance else {}

    def _refusal(self, reason: Reason) -> Values:
        return dict.fromkeys((*_SHARES, "util_pct") if self.gpu.is_instance else _SHARES, reason)

    def end(self) -> None:
        if self.pair is not None:
            self.pair.free()
            self.pair = None


class ActivityProbe:
    """Reads the counters of every GPU that has them."""

    name = "activity"
    needs_driver = True
    every_s = 0.0

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._tracks: dict[int, _Track] = {}

    def read(self, moment: Moment) -> Report:
        """Returns the metrics by device, for the rows of the same moment."""
        gpus = self._inventory.gpus
        for position in [at for at, track in self._tracks.items() if gpus.get(at) is not track.gpu]:
            self._tracks.pop(position).end()
        values: dict[int, Values] = {}
        try:
            for position, gpu in gpus.items():
                if position not in self._tracks:
                    self._tracks[position] = _Track(gpu)
                values[position] = self._tracks[position].read(moment)
        except DriverLost as error:
            self._inventory.driver_lost(str(error), moment)
        self._inventory.settle(moment)
        return Report(values=values, count=sum(track.pair is not None for track in self._tracks.values()))


def _stored(metric: str, value: float | Reason, elapsed_s: float) -> int | Reason:
    if isinstance(value, Reason):
        return value
    if not math.isfinite(value):
        return Reason.OUT_OF_RANGE
    natural = value * elapsed_s if metric in _RATES else value
    if metric in _SHARES and 100 < value <= MOST_PCT:
        natural = 100.0
    stored = BY_NAME[metric].store(natural)
    return Reason.OUT_OF_RANGE if stored is None else stored


def build(context: Context) -> ActivityProbe:
    """Returns the probe for this node."""
    return ActivityProbe(context.inventory)
