"""Processes that contradict Slurm's list: a control group names the job of a process with certainty, a place does not.

Then the places of this node's list are not what they seem, and nobody may be told anything about these GPUs.
"""

from collections.abc import Callable, Mapping, Sequence

from collector.liveness import job_of
from collector.readings import GpuProcess
from store.segment import Event


class Disputes:
    """Remembers what it has told: the same contradiction is one event."""

    def __init__(self, job_of_process: Callable[[int], str | None] = job_of) -> None:
        self._job_of = job_of_process
        self._told: set[tuple[int, str, frozenset[str]]] = set()

    def events(
        self, holders: Mapping[int, frozenset[str]], processes: Mapping[int, Sequence[GpuProcess]], now_ms: int
    ) -> list[Event]:
        """Returns what is newly disputed; ``holders`` are the job ids by device, as the list has them."""
        found = []
        for device, jobs in holders.items():
            workers = {self._job_of(process.pid) for process in processes.get(device, ())} - {None, *jobs}
            for worker in sorted(worker for worker in workers if worker is not None):
                if (device, worker, jobs) in self._told:
                    continue
                self._told.add((device, worker, jobs))
                held = " and ".join(sorted(jobs))
                detail = f"a process of job {worker} works on a GPU that Slurm's list gives to job {held}"
                found.append(Event(ts_ms=now_ms, kind="order_disputed", device=device, detail=detail))
        return found
