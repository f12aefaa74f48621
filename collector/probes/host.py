"""The CPU time and memory of each job that holds GPUs here, from its control group."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from collector.counters import Counter
from collector.job_usage import JobUsage
from collector.probes import Context
from collector.readings import HostRow, Moment, Reason, Report
from store.segment import Holding

LONGEST_SPAN: Final = 2.5  # intervals; over a longer gap nothing is told
PATIENCE: Final = 6
"""Readings at which no job has a group before that is called a problem: groups come late and go early."""
_NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000
_UNCOUNTED: Final = (
    "no control group counts the CPU time of the jobs here: set JobAcctGatherType=jobacct_gather/cgroup in slurm.conf, "
    "or take the host probe out of the configuration"
)


class _Track:
    """What the next row of one job needs from its last."""

    def __init__(self, start: Moment) -> None:
        self.counter = Counter(_NS_PER_MS)
        self.last = start


class HostProbe:
    """Reads the groups of jobs that hold a GPU at every row; sessions have none and are not asked about."""

    name = "host"
    needs_driver = False
    every_s = 0.0

    def __init__(self, usage: JobUsage, interval_s: float, cores: int) -> None:
        self._usage = usage
        self._longest_ms = round(LONGEST_SPAN * interval_s * 1000)
        self._most_per_s = float(cores * _NS_PER_S)
        self._holds: dict[str, Holding] = {}
        self._tracks: dict[str, _Track] = {}
        self._missed = 0  # readings in a row at which nothing was counted
        self._counts = False  # whether anything ever was: then a group that is missing belongs to a job that ends

    def note_holds(self, live: Sequence[Holding]) -> None:
        """Hears which holds last from now on."""
        self._holds = {holding.job_id: holding for holding in live if holding.kind == "job"}
        for job_id in self._tracks.keys() - self._holds.keys():
            del self._tracks[job_id]
            self._usage.forget(job_id)

    def read(self, moment: Moment) -> Report:
        """Returns a row per job whose group could be read."""
        rows: list[HostRow] = []
        for job_id, holding in self._holds.items():
            usage = self._usage.of(job_id)
            if usage is None:
                self._tracks.pop(job_id, None)
                continue
            self._counts = True
            track = self._tracks.get(job_id) or self._begin(job_id, holding, moment)
            cpu_ms = track.counter.amount(usage.cpu_ns, moment.steady_s, self._most_per_s)
            span_ms = self._span_ms(track.last, moment)
            track.last = moment
            if cpu_ms is not None and not isinstance(cpu_ms, Reason) and span_ms > 0:
                rows.append(HostRow(job_id, moment.wall_ms, span_ms, cpu_ms, usage.mem_mib))
        self._missed = self._missed + 1 if self._holds and not self._counts else 0
        return Report(hosts=tuple(rows), count=len(rows), error=_UNCOUNTED if self._missed >= PATIENCE else "")

    def _begin(self, job_id: str, holding: Holding, moment: Moment) -> _Track:
        """Begins to count a job: from its start, at which the group was made, where that has just been."""
        age_ms = moment.wall_ms - holding.start_ms
        fresh = 0 < age_ms <= self._longest_ms
        start = Moment(holding.start_ms, moment.steady_s - age_ms / 1000) if fresh else moment
        track = self._tracks[job_id] = _Track(start)
        if fresh:
            track.counter.amount(0, start.steady_s, self._most_per_s)
        return track

    def _span_ms(self, last: Moment, moment: Moment) -> int:
        span_ms = min(round((moment.steady_s - last.steady_s) * 1000), moment.wall_ms - last.wall_ms)
        return span_ms if span_ms <= self._longest_ms else 0


def build(context: Context) -> HostProbe:
    """Returns the probe for this node."""
    usage = JobUsage(Path(context.settings.cgroup_root), context.node)
    return HostProbe(usage, context.settings.interval_s, os.cpu_count() or 1)
