"""Capacity of a cluster on whose GPUs nothing reports: one host asks Slurm, and every GPU-hour is accounted for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.product import Daemon, Hub
from tests.slurm.running import SlurmCluster

PARTS = ("held", "suspended", "releasing", "stray", "offline", "taken", "reserved", "unallocated")


@pytest.fixture
def hub(slurm_cluster: SlurmCluster, tmp_path: Path) -> Iterator[Hub]:
    running = Hub(tmp_path, {})
    keys = {
        "interval_s": 1.0, "segment_s": 2.0, "probes": ["cluster"], "cluster_every_s": 1.0, "slurm": "yes",
        "hub": running.address, "token": running.token,
    }  # fmt: skip
    daemon = Daemon(slurm_cluster, slurm_cluster.nodes[0], tmp_path, keys, {})
    yield running
    daemon.stop()
    running.stop()


def test_what_nobody_reports_is_counted_all_the_same(slurm_cluster: SlurmCluster, hub: Hub) -> None:
    def hours(name: str, least_gpu_h: float) -> dict[str, Any] | None:
        found: dict[str, Any] = hub.get("summary?range=24h")["hours"]
        return found if (found[f"{name}_gpu_h"] or 0) > least_gpu_h else None

    gpu_second_h = 1 / 3600
    slurm_cluster.eventually(lambda: hours("free", gpu_second_h), timeout_s=40)
    node = slurm_cluster.nodes[0]
    job = slurm_cluster.submit("bob", f"--nodelist={node}", "--gres=gpu:2", wrap="sleep 60")
    try:
        slurm_cluster.wait(job, {"RUNNING"})
        # No hook, no accounting: Slurm alone says that two GPUs are in use, so they are not called free.
        slurm_cluster.eventually(lambda: hours("taken", 2 * gpu_second_h), timeout_s=40)
    finally:
        slurm_cluster.as_root("scancel", str(job))
    slurm_cluster.wait(job)
    slurm_cluster.as_root("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=fan")
    try:
        found = slurm_cluster.eventually(lambda: hours("offline", 4 * gpu_second_h), timeout_s=40)
    finally:
        slurm_cluster.as_root("scontrol", "update", f"NodeName={node}", "State=RESUME")
    assert found["capacity_gpu_h"] == pytest.approx(sum(found[f"{part}_gpu_h"] for part in PARTS), abs=1e-9)
    assert found["held_gpu_h"] == found["stray_gpu_h"] == 0
    assert hub.get("health")["nodes_reporting"] == 0
