"""Processes that contradict Slurm's list: a control group names the job of a process with certainty, a place does not.

Then the places of this node's list are not what they seem, or jobs work on GPUs that they do not hold; either way
nobody on this node may be told anything about GPUs, until the daemon is started again.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from collector.liveness import job_of
from collector.readings import GpuProcess
from store.segment import Event


class Disputes:
    """Compares what processes do with what jobs hold. The same contradiction is told once."""

    def __init__(self, job_of_process: Callable[[int], str | None] = job_of) -> None:
        self.disputed = False
        self._job_of = job_of_process
        self._told: set[tuple[str, int | None]] = set()
        self._strangers: set[str] = set()  # jobs without a drop-file at the look before

    def events(
        self,
        held: Mapping[str, Collection[int] | None],
        hooked: Collection[str],
        processes: Mapping[int, Sequence[GpuProcess]],
        now_ms: int,
    ) -> list[Event]:
        """Returns what is new. The events concern the whole node.

        Args:
            held: the devices of each job as a list of Slurm's has them; None where they cannot be told.
            hooked: jobs whose drop-file is there, or is not to be expected.
            processes: those on each device.
            now_ms: the moment.
        """
        found = []
        strangers = set()
        for device, listed in processes.items():
            for job in sorted({job for process in listed if (job := self._job_of(process.pid)) is not None}):
                if job not in hooked:
                    strangers.add(job)
                if (devices := held.get(job)) is not None and device not in devices:
                    self.disputed = True
                    detail = f"job {job} works on a GPU that it does not hold by Slurm's list"
                    found += self._once((job, device), "order_disputed", detail, now_ms)
        for job in sorted(
            strangers & self._strangers
        ):  # twice, since a job's end mark may come before its last process
            detail = f"job {job} works on a GPU here and left no drop-file: see whether deploy/hooks/prolog runs"
            found += self._once((job, None), "hook_missing", detail, now_ms)
        self._strangers = strangers
        return found

    def _once(self, what: tuple[str, int | None], kind: str, detail: str, now_ms: int) -> list[Event]:
        if what in self._told:
            return []
        self._told.add(what)
        return [Event(ts_ms=now_ms, kind=kind, detail=detail)]
