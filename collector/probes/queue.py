"""The one poll of a cluster's queue, on one host: what pending jobs ask for, and which runs hold GPUs.

Each poll walks slurmctld's whole table of jobs, so it is asked by one host, with the host's own share of a delay, and
less often while it fails. The demand travels with every poll; a live run only when something about it is new, and
again every ten minutes, should a segment have been lost.
"""

import zlib
from typing import Final

from collector.probes import Context
from collector.readings import Moment, Report
from collector.slurm_command import SlurmCommand, SlurmProblem
from store.formats.squeue import NoQueue, Queue, parse
from store.segment import Event, LiveRun, QueuePoll

STANDS_FOR: Final = 2.5  # intervals that a poll stands for at most, as a row does (definitions, section 1)
_JITTER: Final = 0.1  # of the interval
_MOST_DELAY_S: Final = 900.0
_RUNS_AGAIN_S: Final = 600.0
_MOST_REASONS: Final = 20  # told of one poll
_ENVIRONMENT: Final = {"SLURM_BITSTR_LEN": "0"}  # else a long list of an array's tasks is broken off after 64 letters

RunKey = tuple[str, str, int]


class QueueProbe:
    """Remembers which runs it has told, and how often it failed in a row."""

    name = "queue"
    needs_driver = False

    def __init__(self, squeue: SlurmCommand, every_s: float, cluster: str, node: str) -> None:
        self._squeue = squeue
        # The same for a host at each start, so that the clusters of a site do not all ask at the full minute.
        self._every_s = every_s * (1 + _JITTER * (zlib.crc32(node.encode()) % 1000) / 1000)
        self._cluster = cluster
        self._failures = 0
        self._runs: dict[RunKey, LiveRun] = {}
        self._all_told_s: float | None = None
        self._told: set[str] = set()

    @property
    def every_s(self) -> float:
        """Seconds until the next poll: twice as many after each failure in a row."""
        return max(self._every_s, min(self._every_s * 2.0 ** min(self._failures, 16), _MOST_DELAY_S))

    def read(self, moment: Moment) -> Report:
        """Returns the queue as it is now."""
        try:
            found = parse(self._squeue.ask("--json"), self._cluster)
        except SlurmProblem as error:
            return self._failed(str(error))
        except NoQueue as error:
            step = "it needs Slurm 21.08 or later, built with JSON"
            return self._failed(f"squeue --json gives no queue: {error}; {step}")
        self._failures = 0
        runs, whole = self._fresh(found, moment)
        poll = QueuePoll(
            at_ms=moment.wall_ms,
            until_ms=moment.wall_ms + round(STANDS_FOR * self._every_s * 1000),
            pending=found.pending,
            runs=runs,
            whole=whole,
            held_gpus=sum(run.alloc_gpus or 0 for run in found.runs),
        )
        return Report(queue=(poll,), count=found.jobs, events=tuple(self._refusals(found, moment)))

    def _failed(self, sentence: str) -> Report:
        self._failures += 1
        return Report(error=sentence)

    def _fresh(self, found: Queue, moment: Moment) -> tuple[tuple[LiveRun, ...], bool]:
        """Returns the runs of which something is new, and whether these are all."""
        again = self._all_told_s is None or moment.steady_s - self._all_told_s >= _RUNS_AGAIN_S
        if again:
            self._all_told_s = moment.steady_s
        before, self._runs = self._runs, {_key(run): run for run in found.runs}
        whole = again and not found.refusals
        return tuple(run for key, run in self._runs.items() if again or before.get(key) != run), whole

    def _refusals(self, found: Queue, moment: Moment) -> list[Event]:
        fresh = sorted({refusal.reason for refusal in found.refusals} - self._told)[:_MOST_REASONS]
        self._told.update(fresh)
        return [Event(ts_ms=moment.wall_ms, kind="queue_refused", detail=f"squeue: {reason}") for reason in fresh]


def build(context: Context) -> QueueProbe:
    """Returns the probe for this host."""
    settings = context.settings
    squeue = SlurmCommand(
        settings.squeue,
        settings.queue_timeout_s,
        setting="collector.squeue",
        probe="queue",
        look="see whether slurmctld answers (scontrol ping)",
        environment=_ENVIRONMENT,
    )
    return QueueProbe(squeue, settings.queue_every_s, context.cluster, context.node)


def _key(run: LiveRun) -> RunKey:
    return run.cluster, run.job_id_raw, run.restart or 0
