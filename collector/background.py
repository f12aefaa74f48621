"""Probes that have their own rhythm and may take minutes, such as sacct: each on a thread of its own."""

from collector.probes import Probe, run_probe
from collector.readings import Moment, Report
from collector.worker import Worker
from store.segment import ProbeRun


class Background:
    """One slow probe. It is asked again ``every_s`` after it was asked, and never twice at once."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._worker: Worker[tuple[Report, ProbeRun]] = Worker(probe.name)
        self._next_s = 0.0

    def beat(self, moment: Moment) -> tuple[Report, ProbeRun] | None:
        """Returns what the probe has found since the last beat, and sets it off when it is due."""
        if self._worker.busy:
            return self._worker.finished()
        if moment.steady_s >= self._next_s:
            self._next_s = moment.steady_s + self._probe.every_s
            self._worker.start(lambda: run_probe(self._probe, moment))
        return None
