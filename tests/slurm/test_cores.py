"""CPU time of real jobs from the control groups that a real slurmd made."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from analytics.model import Viewer
from analytics.queries.cores import cores
from analytics.queries.resolve import resolve
from store.database import Database
from store.settings import StoreSettings
from tests.fakenvml import child_env, write_scenario
from tests.fakenvml.building import obstacle
from tests.slurm.product import Daemon, Hub, hooks_installed
from tests.slurm.running import SlurmCluster

JOB_S = 25
SPIN = f"#!/bin/bash\ntimeout {JOB_S} sh -c 'while :; do :; done'\ntimes\n"
MEASURED = re.compile(r"(\d+)m([\d.]+)s (\d+)m([\d.]+)s")
NODE = {"interval_s": 2.0, "segment_s": 2.0, "probes": ["gpu", "host"], "slurm": "yes"}
SECTIONS = {"analytics.schedule": {"roll_up_s": 1.0, "footprints_s": 1.0}}


@pytest.fixture
def counting_cluster() -> Iterator[SlurmCluster]:
    """A cluster that gathers by control group: only then does slurmd make the one that counts CPU time (v1)."""
    cluster = SlurmCluster.start(options=("--gather", "cgroup"))
    yield cluster
    cluster.stop()


@pytest.mark.slurm
def test_a_busy_loop_keeps_one_core_busy_and_a_sleeper_none(counting_cluster: SlurmCluster, tmp_path: Path) -> None:
    if reason := obstacle():
        pytest.skip(reason)
    cluster, scenario = counting_cluster, tmp_path / "scenario"
    write_scenario(scenario, "count = 4\ngpu.*.model = a100\n")
    hub = Hub(tmp_path, SECTIONS)
    with hooks_installed(cluster):
        keys = {**NODE, "hub": hub.address, "token": hub.token}
        daemon = Daemon(cluster, cluster.nodes[0], tmp_path, keys, child_env(scenario))
        try:
            cluster.eventually(lambda: hub.get("nodes")["items"] or None)
            jobs = [
                cluster.submit("alice", "--gres=gpu:1", script=SPIN),
                cluster.submit("bob", "--gres=gpu:1", wrap=f"sleep {JOB_S}"),
            ]
            assert [cluster.wait(job) for job in jobs] == ["COMPLETED", "COMPLETED"]
            cluster.eventually(lambda: all(hub.get(f"jobs/{job}")["end_ms"] for job in jobs) or None, timeout_s=20)
        finally:
            assert daemon.stop() == 0
            hub.stop()
    # The machine may have other things to do: what the shell says that its children used is the truth.
    used_s = own_cpu_s(cluster.home("alice") / f"slurm-{jobs[0]}.out")
    spun_s, slept_s = (counted_s(hub.data, job) for job in jobs)
    # What a job does after the last reading goes with its control group.
    assert 0.8 * used_s <= spun_s <= used_s + 1
    assert slept_s < 1
    assert "no control group" not in daemon.log.read_text()


def own_cpu_s(output: Path) -> float:
    """Return what `times` printed of the children of the job's shell."""
    minutes, seconds, system_minutes, system_seconds = map(float, MEASURED.findall(output.read_text())[-1])
    return 60 * (minutes + system_minutes) + seconds + system_seconds


def counted_s(data: Path, job: int) -> float:
    """Return the CPU time that the store has of a job on its only node."""
    with Database.open(data, synthetic=False, settings=StoreSettings()) as database, database.cursor() as cursor:
        (run_key,) = resolve(cursor, Viewer(), str(job))
        (node,) = cores(cursor, Viewer(), run_key, 60_000)
        assert all(busy is not None and busy <= 1.1 for busy in node.busy_cores)
        [(cpu_ms,)] = cursor.tuples("SELECT sum(cpu_ms)::BIGINT FROM host_minute WHERE run_key = $1", [run_key])
    return float(cpu_ms / 1000)
