"""A node without hooks: an allocation that only slurmctld knows is on its own GPUs, idle, and suspended when it is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakenvml import child_env, write_scenario
from tests.fakenvml.building import obstacle
from tests.slurm.product import Daemon, Hub
from tests.slurm.running import SlurmCluster

INTERVAL_S = 1
HELD_S = 15
SECTIONS = {"analytics.schedule": {"roll_up_s": 1.0, "footprints_s": 5.0, "judge_s": 5.0}}
NODE = {
    "interval_s": float(INTERVAL_S),
    "segment_s": 2.0,
    "probes": ["gpu", "processes", "queue"],
    "queue_every_s": 10.0,
    "slurm": "yes",
}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    running = Hub(tmp_path, SECTIONS)
    yield running
    running.stop()


@pytest.fixture
def daemon(slurm_cluster: SlurmCluster, hub: Hub, tmp_path: Path) -> Iterator[Daemon]:
    if reason := obstacle():
        pytest.skip(reason)
    write_scenario(tmp_path / "scenario", "count = 4\ngpu.*.model = a100\n")
    keys = {**NODE, "hub": hub.address, "token": hub.token}
    env = {**child_env(tmp_path / "scenario"), **slurm_cluster.environment}
    running = Daemon(slurm_cluster, slurm_cluster.nodes[0], tmp_path, keys, env)
    yield running
    running.stop()


@pytest.fixture
def allocation(slurm_cluster: SlurmCluster) -> Iterator[int]:
    """Two GPUs that bob holds without any process, the first being somebody else's."""
    other = slurm_cluster.submit("alice", "--gres=gpu:1", wrap="sleep 300")
    slurm_cluster.wait(other, {"RUNNING"})
    slurm_cluster.as_user("bob", "salloc", "--no-shell", "--gres=gpu:2", "--job-name=kept")
    listed = slurm_cluster.as_root("squeue", "-h", "--name=kept", "-o", "%i").split()
    job = int(listed[0])
    yield job
    for each in (job, other):
        slurm_cluster.as_root("scancel", str(each))


def test_an_idle_allocation_without_hooks(
    slurm_cluster: SlurmCluster, hub: Hub, daemon: Daemon, allocation: int
) -> None:
    node = slurm_cluster.nodes[0]

    def placed() -> dict[str, Any] | None:
        jobs = {row["job_id"]: row for row in hub.get("jobs?range=24h")["items"]}
        if str(allocation) not in jobs:
            return None
        job: dict[str, Any] = hub.get(f"jobs/{allocation}")
        idle_s = (job["idle_gpu_h"] or 0) * 3600
        return job if len(job["gpus"]) == 2 and idle_s >= 2 * HELD_S else None

    job = slurm_cluster.eventually(placed, timeout_s=90)
    assert [(gpu["gpu"], gpu["source"]) for gpu in job["gpus"]] == [(f"{node}:1", "poll"), (f"{node}:2", "poll")]
    assert (job["user"], job["account"], job["name"], job["state"]) == ("bob", "chem", "kept", "RUNNING")

    slurm_cluster.as_root("scontrol", "suspend", str(allocation))
    try:
        summary = slurm_cluster.eventually(lambda: _suspended(hub), timeout_s=60)
    finally:
        slurm_cluster.as_root("scontrol", "resume", str(allocation))
    assert hub.get(f"jobs/{allocation}")["state"] == "SUSPENDED"
    hours = summary["hours"]
    parts = ("held", "suspended", "releasing", "stray", "offline", "reserved", "taken", "unallocated")
    assert sum(hours[f"{part}_gpu_h"] or 0 for part in parts) == pytest.approx(hours["capacity_gpu_h"])
    assert daemon.stop() == 0


def _suspended(hub: Hub) -> dict[str, Any] | None:
    found: dict[str, Any] = hub.get("summary?range=24h")
    return found if (found["hours"]["suspended_gpu_h"] or 0) * 3600 >= 2 * INTERVAL_S else None
