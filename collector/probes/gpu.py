"""The GPUs through the driver: one row per device and interval."""

from collections.abc import Callable
from typing import Final

from collector.energy import EnergyMeter
from collector.inventory import Inventory
from collector.nvml import Gpu
from collector.probes import Context
from collector.readings import DriverLost, Moment, Reason, Report, Row, Values
from collector.traffic import METRICS as TRAFFIC_METRICS
from collector.traffic import Traffic
from collector.utilization import Watch
from store.catalog import BY_NAME
from store.segment import Event

LONGEST_SPAN: Final = 2.5  # intervals that a row may cover back
_BUFFER_DEPTH_S: Final = 10.0  # what a driver's sample buffer surely holds; longer intervals read it in between

# Metrics that are one call each. Those of engines are, like utilization, not to be had of a GPU in MIG mode (nvml.h).
_ENGINES: Final[tuple[tuple[str, Callable[[Gpu], float | Reason]], ...]] = (
    ("enc_pct", Gpu.encoder_pct),
    ("dec_pct", Gpu.decoder_pct),
)
_GAUGES: Final[tuple[tuple[str, Callable[[Gpu], float | Reason]], ...]] = (
    ("power_w", Gpu.power_w),
    ("sm_clock_mhz", Gpu.sm_clock_mhz),
    ("mem_clock_mhz", Gpu.mem_clock_mhz),
    ("temp_c", Gpu.temperature_c),
    ("event_reasons", Gpu.event_reasons),
)
_NOT_IN_MIG_MODE: Final = ("util_pct", "mem_util_pct", *(metric for metric, _ in _ENGINES))
# What a MIG instance shares with its GPU, which alone answers for it.
_OF_THE_BOARD: Final = (*_NOT_IN_MIG_MODE, "energy_j", *(metric for metric, _ in _GAUGES), *TRAFFIC_METRICS)


class _Track:
    """What one device's next row needs from its last."""

    def __init__(self, gpu: Gpu) -> None:
        self.watch = Watch()
        self.energy = EnergyMeter()
        self.traffic = Traffic(gpu.device.pcie_mib_s)
        self.last: Moment | None = None


class GpuProbe:
    """Reads every GPU that answers. The first reading of a device only primes it: a row needs one before it."""

    name = "gpu"
    needs_driver = True
    every_s = 0.0

    def __init__(self, inventory: Inventory, interval_s: float, *, gather_when_dry: bool = True) -> None:
        self._inventory = inventory
        self._interval_s = interval_s
        self._gather_when_dry = gather_when_dry
        self._longest_ms = round(LONGEST_SPAN * interval_s * 1000)
        self._tracks: dict[int, _Track] = {}
        self._gathered_s = 0.0

    def read(self, moment: Moment) -> Report:
        """Returns a row per GPU that answers."""
        rows: list[Row] = []
        events: list[Event] = []
        self._gathered_s = moment.steady_s
        self._inventory.refresh(moment)
        try:
            for position, gpu in self._inventory.gpus.items():
                row = self._row(position, gpu, moment)
                if row is not None:
                    rows.append(row)
                events += self._refusals(position, moment)
        except DriverLost as error:
            self._inventory.driver_lost(str(error), moment)
        self._settle(moment)
        return Report(
            rows=tuple(rows),
            absent=self._inventory.absent,
            events=tuple(events),
            count=len(rows),
            error=self._inventory.problem,
        )

    def wants_gathering(self, moment: Moment) -> bool:
        """Returns whether readings must be taken between rows: a long interval, or a buffer that gives nothing."""
        return self._must_drain(moment) or any(self._must_note(track.watch) for track in self._tracks.values())

    def gather(self, moment: Moment) -> None:
        """Takes the utilization readings of this moment, for the row to come."""
        drains = self._must_drain(moment)
        if drains:
            self._gathered_s = moment.steady_s
        try:
            for position, track in self._tracks.items():
                gpu = self._inventory.gpus.get(position)
                if gpu is None:
                    continue
                if drains:
                    track.watch.gather(gpu, moment)
                if self._must_note(track.watch) and not isinstance(rates := gpu.utilization(), Reason):
                    track.watch.note(moment, rates.gpu)
        except DriverLost as error:
            self._inventory.driver_lost(str(error), moment)
        self._settle(moment)

    def _must_drain(self, moment: Moment) -> bool:
        return self._interval_s > _BUFFER_DEPTH_S and moment.steady_s - self._gathered_s >= _BUFFER_DEPTH_S

    def _must_note(self, watch: Watch) -> bool:
        # One cheap call a second. Only a look into the buffer would show that it fills again, and that costs two: so
        # readings go on until it is read the next time.
        return not watch.buffered or (watch.dry and self._gather_when_dry)

    def _settle(self, moment: Moment) -> None:
        self._inventory.settle(moment)
        for position in self._tracks.keys() - self._inventory.gpus.keys():
            del self._tracks[position]  # a device that comes back starts anew: its counters may have been reset

    def _row(self, position: int, gpu: Gpu, moment: Moment) -> Row | None:
        track = self._track_of(position, gpu)
        span_ms = self._span_ms(track.last, moment)
        values: Values = {}
        if gpu.is_instance:
            values.update(dict.fromkeys(_OF_THE_BOARD, Reason.NOT_SUPPORTED))
        else:
            self._engines(position, gpu, track, moment, span_ms, values)
            _board(gpu, track, moment, values)
        _memory(gpu, values)
        first = track.last is None
        if first or span_ms > 0 or self._stepped_back(track.last, moment):
            track.last = moment
        if gpu.lost or span_ms <= 0:
            return None
        return Row(position, moment.wall_ms, span_ms, values)

    def _engines(self, position: int, gpu: Gpu, track: _Track, moment: Moment, span_ms: int, values: Values) -> None:
        if self._in_mig_mode(position, gpu):
            track.watch = Watch()
            values.update(dict.fromkeys(_NOT_IN_MIG_MODE, Reason.NOT_SUPPORTED))
            return
        self._utilization(track.watch, gpu, moment, span_ms, values)
        for metric, read in _ENGINES:
            _put(values, metric, read(gpu))

    def _track_of(self, position: int, gpu: Gpu) -> _Track:
        if position not in self._tracks:
            self._tracks[position] = _Track(gpu)
        return self._tracks[position]

    def _span_ms(self, last: Moment | None, moment: Moment) -> int:
        """Returns the length of the row: by both clocks at most, so that no two rows of a device overlap."""
        if last is None:
            return 0
        steady_ms = round((moment.steady_s - last.steady_s) * 1000)
        return max(0, min(steady_ms, moment.wall_ms - last.wall_ms, self._longest_ms))

    def _stepped_back(self, last: Moment | None, moment: Moment) -> bool:
        # A small step is waited out; after a large one the row before is given up and the device primed again.
        return last is not None and last.wall_ms - moment.wall_ms > self._longest_ms

    def _utilization(self, watch: Watch, gpu: Gpu, moment: Moment, span_ms: int, values: Values) -> None:
        rates = gpu.utilization()
        current: int | None = None
        reason: Reason = Reason.FAILED
        if isinstance(rates, Reason):
            reason = values["mem_util_pct"] = rates
        else:
            _put(values, "mem_util_pct", rates.memory)
            current, reason = (rates.gpu, reason) if 0 <= rates.gpu <= 100 else (None, Reason.OUT_OF_RANGE)
        watch.gather(gpu, moment)
        if current is not None and self._must_note(watch):
            watch.note(moment, current)
        now_us = moment.wall_ms * 1000
        share = watch.summary(now_us - span_ms * 1000, now_us, current)
        if share is None:
            values["util_pct"] = reason
            return
        _put(values, "util_pct", share.mean_pct)
        _put(values, "util_max_pct", share.highest_pct)
        _put(values, "util_readings", share.readings)
        _put(values, "util_below1_ratio", share.below1_ratio)
        _put(values, "util_watched_ms", share.watched_ms)

    def _in_mig_mode(self, position: int, gpu: Gpu) -> bool:
        """Asks, whatever the readings are: a zero of a GPU that is cut into instances would call its users idle."""
        in_mig_mode = gpu.is_in_mig_mode()
        self._inventory.set_mig_mode(position, in_mig_mode=in_mig_mode)
        self._inventory.set_instances(position, frozenset(gpu.instances()) if in_mig_mode else frozenset())
        return in_mig_mode

    def _refusals(self, position: int, moment: Moment) -> list[Event]:
        track = self._tracks.get(position)
        if track is None or not track.watch.refused:
            return []
        count, track.watch.refused = track.watch.refused, 0
        detail = f"{count} utilization readings outside 0 to 100 % were dropped"
        return [Event(ts_ms=moment.wall_ms, kind="readings_refused", device=position, detail=detail)]


def _board(gpu: Gpu, track: _Track, moment: Moment, values: Values) -> None:
    counter_mj = gpu.energy_mj()
    if isinstance(counter_mj, Reason):
        values["energy_j"] = counter_mj
    elif (joules := track.energy.joules(counter_mj, moment.steady_s, gpu.highest_power_w)) is not None:
        _put(values, "energy_j", joules)
    for metric, read in _GAUGES:
        _put(values, metric, read(gpu))
    for metric, amount in track.traffic.read(gpu.fields, moment).items():
        _put(values, metric, amount)


def _memory(gpu: Gpu, values: Values) -> None:
    memory = gpu.memory()
    if isinstance(memory, Reason):
        values["mem_used_mib"] = memory
        return
    _put(values, "mem_used_mib", memory.used)
    _put(values, "mem_reserved_mib", memory.reserved)


def _put(values: Values, metric: str, natural: float | Reason) -> None:
    if isinstance(natural, Reason):
        values[metric] = natural
        return
    stored = BY_NAME[metric].store(natural)
    values[metric] = Reason.OUT_OF_RANGE if stored is None else stored


def build(context: Context) -> GpuProbe:
    """Returns the probe for this node."""
    settings = context.settings
    return GpuProbe(context.inventory, settings.interval_s, gather_when_dry=settings.gather_when_dry)
