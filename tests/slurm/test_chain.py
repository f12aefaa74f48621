"""The whole chain on real input: Slurm, our hooks, the daemon inside the node, the hub, a finding and a report."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakenvml import child_env, write_scenario
from tests.fakenvml.building import obstacle
from tests.slurm.product import Daemon, Hub, hooks_installed
from tests.slurm.running import SlurmCluster

INTERVAL_S = 1
JOB_S = 25
# A run of 25 s is to these thresholds what a run of hours is to the defaults.
SECTIONS = {
    "analytics.footprint": {"blip_s": 1.0, "refresh_s": 2.0},
    "analytics.confidence": {"medium_rows": 10, "high_rows": 15, "short_s": 10.0},
    "analytics.schedule": {"roll_up_s": 1.0, "footprints_s": 1.0, "judge_s": 1.0},
    "analytics.rules.gpu_never_used": {"min_held_s": 15.0, "busy_s": 3.0},
}
PROBES = ("gpu", "processes", "attribution", "accounting")
GPUS = "count = 4\ngpu.*.model = a100\n"
BUSY = "gpu.util_gpu = 90\ngpu.power_usage_mw = 300000\ngpu.mem_used = 20GiB\n"
NODE = {
    "interval_s": float(INTERVAL_S),
    "segment_s": 2.0,
    "probes": ["gpu", "processes", "accounting"],
    "sacct_every_s": 2.0,
    "slurm": "yes",
}


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    if reason := obstacle():
        pytest.skip(reason)
    path = tmp_path / "scenario"
    write_scenario(path, GPUS)
    return path


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    running = Hub(tmp_path, SECTIONS)
    yield running
    running.stop()


@pytest.fixture
def daemon(slurm_cluster: SlurmCluster, hub: Hub, scenario: Path, tmp_path: Path) -> Iterator[Daemon]:
    keys = {**NODE, "hub": hub.address, "token": hub.token}
    with hooks_installed(slurm_cluster):
        running = Daemon(slurm_cluster, slurm_cluster.nodes[0], tmp_path, keys, child_env(scenario))
        yield running
        running.stop()


def test_a_busy_and_an_idle_job_of_two_users(
    slurm_cluster: SlurmCluster, hub: Hub, daemon: Daemon, scenario: Path
) -> None:
    node = slurm_cluster.nodes[0]
    slurm_cluster.eventually(lambda: hub.get("nodes")["items"] or None)
    jobs = {
        user: slurm_cluster.submit(
            user, f"--nodelist={node}", "--gres=gpu:1", f"--job-name={name}", wrap=f"sleep {JOB_S}"
        )
        for user, name in (("alice", "train"), ("bob", "forgotten"))
    }
    gpus = {user: prolog(slurm_cluster, node, job)["SLURM_JOB_GPUS"] for user, job in jobs.items()}
    assert gpus["alice"] != gpus["bob"]
    write_scenario(scenario, GPUS + BUSY.replace("gpu.", f"gpu.{gpus['alice']}."))
    live = slurm_cluster.eventually(lambda: rows(hub, jobs, lambda row: row["gpus"] == 1), timeout_s=20)
    assert [row["state"] for row in live.values()] == ["RUNNING", "RUNNING"]
    assert [slurm_cluster.wait(job) for job in jobs.values()] == ["COMPLETED", "COMPLETED"]
    write_scenario(scenario, GPUS)

    truth = slurm_cluster.eventually(lambda: accounting(slurm_cluster, jobs), timeout_s=20)
    ended = slurm_cluster.eventually(lambda: rows(hub, jobs, lambda row: told(row) == truth[row["user"]]), timeout_s=40)
    for user, job in jobs.items():
        (gpu,) = hub.get(f"jobs/{job}")["gpus"]
        assert (gpu["gpu"], gpu["source"]) == (f"{node}:{gpus[user]}", "hook")
    # A second at each end lies between Slurm's clock and the daemon's look, and alice's GPU took to work late.
    assert ended["bob"]["idle_gpu_h"] * 3600 >= JOB_S - 3 * INTERVAL_S
    assert ended["bob"]["util_mean_pct"] < 1
    assert ended["alice"]["idle_gpu_h"] * 3600 <= 10
    assert ended["alice"]["util_mean_pct"] > 50

    (finding,) = slurm_cluster.eventually(lambda: hub.get("findings?range=24h")["items"] or None, timeout_s=30)
    assert (finding["rule"], finding["user"], finding["job_id"]) == ("gpu_never_used", "bob", str(jobs["bob"]))
    report = hub.command("report").splitlines()
    assert "1 finding." in report
    assert len([line for line in report if {"bob", "chem", str(jobs["bob"])} <= set(line.split())]) == 1
    assert not any("alice" in line for line in report)
    health = hub.get("health")
    assert {probe["what"]: probe["error"] for probe in health["probes"]} == dict.fromkeys(PROBES, "")
    assert health["slurm"]["slurm_gpu_h"] == pytest.approx(health["slurm"]["our_gpu_h"])
    assert daemon.stop() == 0


def prolog(cluster: SlurmCluster, node: str, job: int) -> dict[str, str]:
    """Return what Slurm gave to the Prolog of a job, as the cluster's own hook saw it."""
    return cluster.eventually(lambda: cluster.hook_environment(node, job, "prolog"), timeout_s=30)


def accounting(cluster: SlurmCluster, jobs: dict[str, int]) -> dict[str, tuple[object, ...]] | None:
    """Return what Slurm says of each user's job, as `told` does, once both have ended there."""
    fields = ("JobIDRaw", "State", "Account", "Partition", "Start", "End", "ElapsedRaw")
    found = {row["JobIDRaw"]: row for row in cluster.sacct("-X", fields=fields) if row["State"] == "COMPLETED"}
    mine = {user: found[str(job)] for user, job in jobs.items() if str(job) in found}
    if len(mine) < len(jobs):
        return None
    return {
        user: (*list(row.values())[1:4], *(int(row[field]) * 1000 for field in ("Start", "End", "ElapsedRaw")))
        for user, row in mine.items()
    }


def told(row: dict[str, Any]) -> tuple[object, ...]:
    """Return state, account, partition, begin and end, and the GPU's hours in milliseconds, as the hub has them."""
    names = ("state", "account", "partition", "start_ms", "end_ms")
    return (*(row[name] for name in names), round(row["gpu_h"] * 3_600_000))


def rows(hub: Hub, jobs: dict[str, int], ready: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
    """Return the rows of both jobs, by user, once both are ready."""
    found = {row["job_id"]: row for row in hub.get("jobs?range=24h")["items"]}
    mine = {user: found[str(job)] for user, job in jobs.items() if str(job) in found}
    assert all(row["user"] == user for user, row in mine.items())
    return mine if len(mine) == len(jobs) and all(map(ready, mine.values())) else None
