"""Jobs by their processes on GPUs: the control group of a process names its job with certainty and needs no privilege.

Process ids are those of the daemon's own PID namespace: in a container of its own it sees nobody's control group.
"""

from collections.abc import Callable, Mapping

from collector.claims import Claim, Scene
from collector.liveness import job_of


class JobProcesses:
    """Says on which GPUs a job computes now; what it holds besides cannot be seen."""

    def __init__(self, job_of_process: Callable[[int], str | None] = job_of) -> None:
        self._job_of = job_of_process

    def claims(self, scene: Scene) -> Mapping[str, Claim]:
        """Returns what the processes show (see collector.claims.Witness)."""
        working: dict[str, set[int]] = {}
        uids: dict[str, int | None] = {}
        for device, listed in scene.processes.items():
            for process in listed:
                job_id = self._job_of(process.pid)
                if job_id is not None:
                    working.setdefault(job_id, set()).add(device)
                    uids[job_id] = process.uid
        return {
            job_id: Claim("cgroup", frozenset(found), is_whole=False, uid=uids[job_id])
            for job_id, found in working.items()
        }
