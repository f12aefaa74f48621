"""The node daemon: at each beat of the grid it reads, attributes, and closes segments."""

import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Final

from collector.background import Background
from collector.baseline import Baselines
from collector.holdings import Attribution, TellingAttribution, placed
from collector.inventory import Inventory
from collector.probes import GatheringProbe, HearingProbe, Probe, run_probe
from collector.readings import GpuProcess, Moment, Reason, Report, Row, add_values
from collector.segmenter import Origin, Segmenter
from collector.settings import CollectorSettings
from collector.worker import Unanswered, Worker
from store.segment import Event, Holding, ProbeRun, Segment

log = logging.getLogger(__name__)
Reports = list[tuple[Report, ProbeRun]]
Ship = Callable[[Segment], tuple[Event, ...]]
_STEP_MS: Final = 2000  # a difference between the clocks that is a step, not a slow correction


class Agent:
    """Owns the order of things; driven by ``start``, ``beat`` and ``finish``, each with the moment it happens."""

    def __init__(
        self,
        settings: CollectorSettings,
        origin: Origin,
        inventory: Inventory,
        probes: Sequence[Probe],
        attribution: Attribution,
        baselines: Baselines,
        ship: Ship,
    ) -> None:
        self._settings = settings
        self._origin = origin
        self._inventory = inventory
        self._driver_probes = [probe for probe in probes if probe.needs_driver]
        self._gathering = [probe for probe in self._driver_probes if isinstance(probe, GatheringProbe)]
        self._hearing = [probe for probe in probes if isinstance(probe, HearingProbe)]
        beside = [probe for probe in probes if not probe.needs_driver]
        self._beside = [probe for probe in beside if not probe.every_s]
        self._background = [Background(probe) for probe in beside if probe.every_s]
        self._attribution = attribution
        self._baselines = baselines
        self._ship = ship
        self._driver: Worker[Reports] = Worker("the NVIDIA driver")
        self._last: Moment | None = None  # the last beat
        self._read_ms = 0  # the last reading
        self._live: tuple[Holding, ...] = ()
        self._errors: dict[str, str] = {}

    def start(self, moment: Moment) -> None:
        """Takes the first reading, which makes no rows: a row covers the time back to the one before it."""
        reports = self._driver_reports(moment)
        processes = _processes(reports)
        live, ended, asked = self._ask_holdings(moment, processes)
        self._segmenter = Segmenter(self._origin, moment.wall_ms, live, self._hold(live))
        self._segmenter.note_ended(ended)
        self._event(
            moment, "agent_started", f"gpuledger {self._origin.agent}, a row every {self._settings.interval_s:g} s"
        )
        self._absorb([*reports, asked], moment)
        self._segmenter.note_processes(moment.wall_ms, processes)
        self._last = moment

    def beat(self, moment: Moment, *, reads: bool) -> None:
        """Reads where a row is due or a hold may have begun or ended; else takes what must be taken in between."""
        self._note_clock_step(moment)
        if reads or self._attribution.changed():
            self._read(moment)
            # The first segment is short, so that a node shows up soon after its start.
            age_ms = moment.wall_ms - self._segmenter.first_ms
            due_ms = self._settings.segment_s * 1000 - self._origin.interval_ms / 2
            if age_ms >= due_ms or (reads and self._segmenter.seq == 0):
                self._close(moment, self._live)
        else:
            self._gather(moment)
        for probe in self._background:
            found = probe.beat(moment)
            if found is not None:
                self._absorb([found], moment)
        self._last = moment

    def finish(self, moment: Moment) -> None:
        """Takes a last row and closes the segment, then the driver."""
        self._read(moment)
        self._event(moment, "agent_stopped", "stopped as asked")
        self._close(moment, ())
        with contextlib.suppress(Unanswered):  # one that hangs is left to the end of the process
            self._driver.call(self._close_driver, self._settings.driver_timeout_s)

    def _read(self, moment: Moment) -> None:
        reports = self._driver_reports(moment)
        self._absorb([*reports, *(run_probe(probe, moment) for probe in self._beside)], moment)
        processes = _processes(reports)
        live, ended, asked = self._ask_holdings(moment, processes)
        self._absorb([asked], moment)
        if self._segmenter.differs(live, ended):
            # The rows just taken are the last of the holds before; those to come are of the holds now.
            self._segmenter.note_ended(ended)
            self._close(moment, live)
        # A session begins at the reading that first sees its process, which so belongs to it.
        self._segmenter.note_processes(moment.wall_ms, processes)
        self._read_ms = moment.wall_ms

    def _driver_reports(self, moment: Moment) -> Reports:
        if not self._driver_probes:
            return []
        probes = self._driver_probes
        try:
            return self._driver.call(
                lambda: [run_probe(probe, moment) for probe in probes], self._settings.driver_timeout_s
            )
        except Unanswered as error:
            run = ProbeRun(probe=probes[0].name, at_ms=moment.wall_ms, duration_ms=0.0, ok=False, error=str(error))
            return [(Report(error=str(error)), run)]

    def _gather(self, moment: Moment) -> None:
        if self._driver.busy:
            return
        due = [probe for probe in self._gathering if probe.wants_gathering(moment)]
        if not due:
            return
        try:
            self._driver.call(lambda: _gather_from(due, moment), self._settings.driver_timeout_s)
        except Unanswered as error:
            self._tell("driver", str(error))

    def _close_driver(self) -> Reports:
        self._inventory.close()
        return []

    def _ask_holdings(
        self, moment: Moment, processes: dict[int, tuple[GpuProcess, ...]]
    ) -> tuple[tuple[Holding, ...], tuple[Holding, ...], tuple[Report, ProbeRun]]:
        """Returns the holds that last, those that ended, and what else the asking brought."""
        asking = _Asking(self._attribution, self._inventory, processes)
        report, run = run_probe(asking, moment)
        if report.error:
            return self._live, (), (report, run)
        self._live = tuple(holding for holding in asking.found if holding.end_ms is None)
        ended = tuple(holding for holding in asking.found if holding.end_ms is not None)
        for probe in self._hearing:
            probe.note_holds(self._live)
        return self._live, ended, (report, run)

    def _absorb(self, reports: Reports, moment: Moment) -> None:
        self._segmenter.note_events(self._inventory.take_events())
        for report, run in reports:
            self._segmenter.note_probe(run)
            self._segmenter.note_events(report.events)
            self._segmenter.note_accounting(report.accounting)
            self._segmenter.note_queue(report.queue)
            self._segmenter.note_inventory(report.inventory)
            self._segmenter.note_hosts(report.hosts)
            self._tell(run.probe, report.error)
            for device in report.absent:
                self._segmenter.note_null(
                    device, "util_pct", Reason.GPU_LOST, self._read_ms or moment.wall_ms, moment.wall_ms
                )
            for row in report.rows:
                self._add(row, reports)

    def _add(self, row: Row, reports: Reports) -> None:
        for report, _ in reports:
            add_values(row.values, report.values.get(row.device, {}))
        self._segmenter.add(row)
        used_mib = row.values.get("mem_used_mib")
        if row.values.get("processes") == 0 and isinstance(used_mib, int):
            device = self._inventory.devices[row.device]
            self._baselines.observe(device.uuid, used_mib, device.mem_total_mib)

    def _close(self, moment: Moment, live: Sequence[Holding]) -> None:
        devices = placed(self._attribution, self._inventory.devices)
        segment = self._segmenter.close(moment.wall_ms, devices, live, self._hold(live))
        self._segmenter.note_events(self._ship(segment))

    def _hold(self, live: Sequence[Holding]) -> dict[int, int]:
        """Tells the baselines which devices are held from now on, and returns them by device."""
        devices = self._inventory.devices
        self._baselines.hold({devices[position].uuid for holding in live for position in holding.devices})
        levels = ((position, self._baselines.of(device.uuid)) for position, device in enumerate(devices))
        return {position: level for position, level in levels if level is not None}

    def _note_clock_step(self, moment: Moment) -> None:
        if self._last is None:
            return
        steady_ms = (moment.steady_s - self._last.steady_s) * 1000
        step_ms = moment.wall_ms - self._last.wall_ms - steady_ms
        if abs(step_ms) > _STEP_MS:
            self._event(moment, "clock_stepped", f"the clock was set by {step_ms / 1000:+.1f} s")

    def _tell(self, probe: str, error: str) -> None:
        """Logs a probe's problem once, when it begins, and once when it is over."""
        if error and self._errors.get(probe) != error:
            log.warning("probe=%s %s", probe, error)
        elif not error and self._errors.get(probe):
            log.info("probe=%s works again", probe)
        self._errors[probe] = error

    def _event(self, moment: Moment, kind: str, detail: str) -> None:
        self._segmenter.note_events([Event(ts_ms=moment.wall_ms, kind=kind, detail=detail)])


def _processes(reports: Reports) -> dict[int, tuple[GpuProcess, ...]]:
    return {device: listed for report, _ in reports for device, listed in report.processes.items()}


def _gather_from(probes: Sequence[GatheringProbe], moment: Moment) -> Reports:
    for probe in probes:
        probe.gather(moment)
    return []


class _Asking:
    """The attribution as a probe, so that its runs are recorded like those of any other."""

    name = "attribution"
    needs_driver = False
    every_s = 0.0

    def __init__(
        self, attribution: Attribution, inventory: Inventory, processes: dict[int, tuple[GpuProcess, ...]]
    ) -> None:
        self._attribution = attribution
        self._inventory = inventory
        self._processes = processes
        self.found: tuple[Holding, ...] = ()

    def read(self, moment: Moment) -> Report:
        self.found = self._attribution.holdings(moment.wall_ms, self._inventory.devices, self._processes)
        told = self._attribution.take_events() if isinstance(self._attribution, TellingAttribution) else ()
        return Report(count=len(self.found), events=told)
