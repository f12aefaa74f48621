"""The product on the cluster as a site runs it: a hub, a daemon inside every node, accounting asked at one of them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from tests.slurm.product import Daemon, Hub, hooks_installed
from tests.slurm.running import SlurmCluster
from tests.slurm.truth.stage import Stage

INTERVAL_MS: Final = 2000
SEGMENT_MS: Final = 4000
POLL_MS: Final = 10_000
WITHOUT_HOOKS: Final = 3  # the node on which jobs are known by their steps, their processes and the poll of the queue
# What takes hours by default takes half a minute here.
SECTIONS: Final[Mapping[str, Mapping[str, object]]] = {
    "analytics.footprint": {"blip_s": 1.0, "refresh_s": 2.0, "stretch_s": 5.0},
    "analytics.confidence": {"medium_rows": 5, "high_rows": 8, "short_s": 15.0},
    "analytics.schedule": {"roll_up_s": 1.0, "footprints_s": 1.0, "judge_s": 1.0},
    "analytics.rules.gpu_never_used": {"min_held_s": 15.0, "busy_s": 4.0},
    "analytics.rules.gpus_unused": {"min_held_s": 15.0, "min_held_running_s": 600.0, "unused_s": 4.0,
                                    "other_busy_s": 10.0},
    "analytics.rules.idle_tail": {"min_held_s": 15.0, "idle_s": 15.0, "short_idle_s": 15.0},
    "analytics.rules.idle_head": {"min_held_s": 15.0, "idle_s": 12.0},
    "analytics.rules.idle_now": {"idle_s": 20.0, "stay_idle_s": 10.0},
}  # fmt: skip
_NODE: Final[Mapping[str, object]] = {
    "interval_s": INTERVAL_MS / 1000,
    "segment_s": SEGMENT_MS / 1000,
    "slurm": "yes",
    "sacct_every_s": 2.0,
    "queue_every_s": POLL_MS / 1000,
    "cluster_every_s": 5.0,
}


class Crew:
    """The running programs. What each daemon gathers lies in a folder of its node, which outlives the daemon."""

    def __init__(self, cluster: SlurmCluster, hub: Hub, folder: Path, stages: Mapping[str, Stage]) -> None:
        self.hub = hub
        self._cluster = cluster
        self._folder = folder
        self._stages = stages
        self._daemons: dict[str, Daemon] = {}

    def start(self, node: str) -> None:
        """Starts the daemon of a node."""
        folder = self._folder / node
        folder.mkdir(exist_ok=True)
        probes = ["gpu", "processes", *(["accounting", "queue", "cluster"] if node == self._cluster.nodes[0] else [])]
        keys: dict[str, Any] = {**_NODE, "probes": probes, "hub": self.hub.address, "token": self.hub.token}
        self._daemons[node] = Daemon(self._cluster, node, folder, keys, self._stages[node].env)

    def stop(self, node: str) -> int:
        """Ends the daemon of a node, with its last segment delivered; returns its exit status."""
        return self._daemons.pop(node).stop()

    def lost(self, node: str) -> None:
        """Takes note that the node has crashed, and its daemon with it."""
        self.stop(node)

    def stop_all(self) -> dict[str, int]:
        """Ends every daemon that runs; returns exit statuses by node."""
        return {node: self.stop(node) for node in list(self._daemons)}


@contextmanager
def on_duty(cluster: SlurmCluster, folder: Path, stages: Mapping[str, Stage]) -> Iterator[Crew]:
    """Yields the product at work; its hub serves until the end."""
    with ExitStack() as stack:
        hub = Hub(folder, SECTIONS)
        stack.callback(hub.stop)
        stack.enter_context(hooks_installed(cluster, but_on=cluster.nodes[WITHOUT_HOOKS - 1]))
        crew = Crew(cluster, hub, folder, stages)
        stack.callback(crew.stop_all)
        for node in cluster.nodes:
            crew.start(node)
        cluster.eventually(lambda: True if len(hub.get("nodes")["items"]) == len(cluster.nodes) else None)
        yield crew
