"""What is done to jobs, nodes and the product while the cases are played."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.slurm.running import SlurmCluster
from tests.slurm.truth.case import Act, Case, Deed
from tests.slurm.truth.crew import Crew
from tests.slurm.truth.parts import Part, Parts
from tests.slurm.truth.stage import Stage


class Acts:
    """The acts of all cases, each done when its time has come."""

    def __init__(
        self, cluster: SlurmCluster, cases: Mapping[str, Case], parts: Parts, stages: Mapping[str, Stage], crew: Crew
    ) -> None:
        self._cluster = cluster
        self._parts = parts
        self._stages = stages
        self._crew = crew
        self.left: list[tuple[Case, Act]] = [(case, act) for case in cases.values() for act in case.acts]
        self.looks: dict[str, Any] = {}
        """By case: the findings while it ran."""

    def do_due(self) -> None:
        """Does what is due now, in the order of the cases."""
        now_s = time.time()
        for case, act in list(self.left):
            part = self._parts.first(case)
            if part is not None and now_s - part.stays[0].begun_ms / 1000 >= act.after_s:
                self.left.remove((case, act))
                _DEEDS[act.what](self, part)

    def _cancel(self, part: Part) -> None:
        self._cluster.as_user(part.case.user, "scancel", str(part.job_id))

    def _requeue(self, part: Part) -> None:
        self._cluster.as_root("scontrol", "requeue", str(part.job_id))
        # Started before slurmd forgets the job's credential, cred_expire after its end there, it gets no Prolog.
        self._cluster.as_root("scontrol", "update", f"JobId={part.job_id}", "StartTime=now+25")

    def _suspend(self, part: Part) -> None:
        self._cluster.as_root("scontrol", "suspend", str(part.job_id))
        part.suspended.append((round(time.time() * 1000), None))
        for stay in part.present:  # its processes are stopped
            self._stages[stay.node].does(dict.fromkeys(stay.minors, "idle"))
        part.played = 0

    def _resume(self, part: Part) -> None:
        self._cluster.as_root("scontrol", "resume", str(part.job_id))
        part.suspended[-1] = (part.suspended[-1][0], round(time.time() * 1000))

    def _crash(self, part: Part) -> None:
        (node,) = {stay.node for stay in part.stays}
        self._stages[node].watched(False)
        self._cluster.change_node(node, "kill")
        self._crew.lost(node)
        self._parts.node_gone(node)

    def _boot(self, part: Part) -> None:
        node = part.stays[0].node
        self._cluster.change_node(node, "start")
        self._crew.start(node)
        self._stages[node].watched(True)

    def _restart_daemon(self, part: Part) -> None:
        node = part.stays[0].node
        self._stages[node].watched(False)
        self._crew.stop(node)
        self._crew.start(node)
        self._stages[node].watched(True)

    def _hub_down(self, _part: Part) -> None:
        self._crew.hub.stop()

    def _hub_up(self, _part: Part) -> None:
        self._crew.hub.start()

    def _look(self, part: Part) -> None:
        self.looks[part.case.name] = self._crew.hub.get("findings?range=24h")["items"]


_DEEDS: Final[Mapping[Deed, Callable[[Acts, Part], None]]] = {
    "cancel": Acts._cancel,
    "requeue": Acts._requeue,
    "suspend": Acts._suspend,
    "resume": Acts._resume,
    "crash node": Acts._crash,
    "boot node": Acts._boot,
    "restart daemon": Acts._restart_daemon,
    "hub down": Acts._hub_down,
    "hub up": Acts._hub_up,
    "look": Acts._look,
}
