"""Only the very processes that were recorded are ever signalled."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.cluster import ClusterError, cgroups, commands, creation
from tests.slurm.cluster.processes import Processes, signal_if_same, start_time
from tests.slurm.cluster.state import MARK, Cluster, Shape

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path, tmp_path, {})


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEP) as child:
        yield child
        child.kill()


def test_a_pid_given_to_another_process_is_left_alone(
    processes: Processes, tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    started = start_time(sleeper.pid)
    assert started is not None
    signal_if_same(sleeper.pid, started - 1, signal.SIGKILL)
    (tmp_path / "daemon.pid.json").write_text(json.dumps({"pid": sleeper.pid, "start": started - 1}))
    assert processes.alive("daemon") is None
    processes.end(["daemon"], signal.SIGKILL)
    assert sleeper.poll() is None


def test_a_process_that_died_before_it_was_recorded_is_not_alive(processes: Processes) -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    processes.record("daemon", child.pid)
    assert processes.alive("daemon") is None


def test_waiting_ends_when_a_needed_process_dies_and_shows_its_log(processes: Processes) -> None:
    processes.spawn("daemon", ["sh", "-c", "echo no room; exit 1"])
    with pytest.raises(ClusterError, match=r"daemon died\n.*\nno room"):
        processes.wait("the daemon", lambda: "not ready", 60, ["daemon"])


def test_what_ignores_sigterm_is_killed(processes: Processes, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    processes.spawn(
        "daemon",
        ["sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep 0.1; done"],
        environment={"PATH": "/usr/bin:/bin"},
    )
    processes.wait("the trap", lambda: None if ready.exists() else "not set", 20, ["daemon"])
    processes.end(["daemon"], timeout_s=0.2)
    assert processes.alive("daemon") is None


def test_only_a_cluster_whose_owner_is_gone_counts_as_an_orphan(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    cluster = Cluster(tmp_path / "cluster")
    (cluster / "run").mkdir(parents=True)
    (cluster / MARK).touch()
    cluster.processes.record("owner", sleeper.pid)
    commands.down(cluster, purge=True, remove_users=True, only_orphan=True)
    assert cluster.folder.exists()
    sleeper.kill()
    sleeper.wait()
    commands.down(cluster, purge=True, remove_users=True, only_orphan=True)
    assert not cluster.folder.exists()


def test_a_node_name_that_another_cluster_uses_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tree/freezer/slurm_n2").mkdir(parents=True)
    (tmp_path / "state").mkdir()
    monkeypatch.setattr(cgroups, "_TREE", tmp_path / "tree")
    with pytest.raises(ClusterError, match="choose another --prefix"):
        creation.create(Cluster(tmp_path / "state"), Shape())


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ClusterError, match="not empty and no test cluster"):
        creation.create(Cluster(tmp_path), Shape())
