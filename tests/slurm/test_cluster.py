"""The cluster does what later tests rely on, and leaves nothing behind."""

import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.cluster import cgroups
from tests.slurm.running import SlurmCluster

ALLOCATION = ("--gres=gpu:a100:2", "--gres=gpu:1")


@pytest.fixture
def node(slurm_cluster: SlurmCluster) -> str:
    return slurm_cluster.nodes[0]


@pytest.fixture
def file_in_prolog_folder(slurm_cluster: SlurmCluster) -> Iterator[Path]:
    path = slurm_cluster.prolog_folder / "10-note"
    yield path
    path.unlink()


def test_jobs_of_two_users_hold_the_gpus_they_asked_for(slurm_cluster: SlurmCluster, node: str) -> None:
    jobs = {
        user: slurm_cluster.submit(
            user, f"--nodelist={node}", "--job-name=two\nlines", gres, wrap="sleep 1; ls /dev/nvidia?"
        )
        for user, gres in zip(("alice", "bob"), ALLOCATION, strict=True)
    }
    assert [slurm_cluster.wait(job) for job in jobs.values()] == ["COMPLETED", "COMPLETED"]

    held = {}
    for user, job in jobs.items():
        told = slurm_cluster.hook_environment(node, job, "prolog")
        assert told is not None
        assert told["SLURM_JOB_USER"] == user
        held[user] = set(told["SLURM_JOB_GPUS"].split(","))
    assert (len(held["alice"]), len(held["bob"])) == (2, 1)
    assert not held["alice"] & held["bob"]

    fields = ("JobIDRaw", "User", "Account", "State", "JobName", "AllocTRES", "NodeList", "ElapsedRaw")

    def both() -> dict[str, dict[str, str]] | None:
        rows = {row["JobIDRaw"]: row for row in slurm_cluster.sacct("-X", fields=fields)}
        mine = {user: rows.get(str(job), {}) for user, job in jobs.items()}
        return mine if all(row.get("State") == "COMPLETED" for row in mine.values()) else None

    rows = slurm_cluster.eventually(both, timeout_s=20)
    assert [(row["User"], row["Account"]) for row in rows.values()] == [("alice", "physics"), ("bob", "chem")]
    assert ["gres/gpu=2" in rows["alice"]["AllocTRES"], "gres/gpu=1" in rows["bob"]["AllocTRES"]] == [True, True]
    assert {row["NodeList"] for row in rows.values()} == {node}
    assert {row["JobName"] for row in rows.values()} == {"two\nlines"}


def test_a_program_in_a_node_sees_that_node_alone(slurm_cluster: SlurmCluster, node: str) -> None:
    program = slurm_cluster.run_in_node(
        node, ["sh", "-c", "hostname; echo $WORD; ls -d /dev/nvidia[0-9]; exit 7"], {"WORD": "x=y"}
    )
    output, _ = program.communicate(timeout=20)
    assert output.decode().split() == [node, "x=y", *(f"/dev/nvidia{index}" for index in range(4))]
    assert program.returncode == 7


def test_terminate_reaches_a_program_in_a_node(slurm_cluster: SlurmCluster, node: str) -> None:
    script = "trap 'echo flushed; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    program = slurm_cluster.run_in_node(node, ["sh", "-c", script])
    assert program.stdout is not None
    assert program.stdout.readline() == b"ready\n"
    program.terminate()
    assert program.communicate(timeout=20)[0] == b"flushed\n"
    assert program.returncode == 5


def test_scripts_of_a_test_run_as_hooks_on_the_node(
    slurm_cluster: SlurmCluster, node: str, file_in_prolog_folder: Path
) -> None:
    file_in_prolog_folder.write_text("#!/bin/sh\nmkdir -p /run/note; echo $SLURM_JOB_GPUS > /run/note/$SLURM_JOB_ID\n")
    file_in_prolog_folder.chmod(0o755)
    job = slurm_cluster.submit("bob", f"--nodelist={node}", "--gres=gpu:1", script="#!/bin/sh\nid -un\n")
    assert slurm_cluster.wait(job) == "COMPLETED"
    told = slurm_cluster.hook_environment(node, job, "prolog")
    program = slurm_cluster.run_in_node(node, ["cat", f"/run/note/{job}"])
    assert told is not None
    assert program.communicate(timeout=20)[0].decode().strip() == told["SLURM_JOB_GPUS"]
    assert (slurm_cluster.home("bob") / f"slurm-{job}.out").read_text() == "bob\n"
    assert not Path("/run/note").exists(), "a node's /run is its own"


@pytest.mark.slurm
@pytest.mark.parametrize("isolation", ["auto", "none"])
def test_down_leaves_nothing_even_of_a_suspended_job(isolation: str) -> None:
    cluster = SlurmCluster.start(
        gpus=2, options=("--assoc", "physics:gltestcarol", "--isolation", isolation, "--name", "short")
    )
    try:
        jobs = [cluster.submit("gltestcarol", "--gres=gpu:1", wrap="sleep 600") for _ in range(2)]
        for job in jobs:
            cluster.wait(job, {"RUNNING"})
        cluster.as_root("scontrol", "suspend", str(jobs[0]))
        assert cluster.wait(jobs[0], {"SUSPENDED"}) == "SUSPENDED"
    finally:
        cluster.stop()
    trace = str(cluster.folder)
    assert [line for line in Path("/proc/mounts").read_text().splitlines() if trace in line] == []
    assert subprocess.run(["pgrep", "-f", trace], capture_output=True, check=False).stdout == b""
    assert cgroups.of_nodes(cluster.nodes) == []
    assert not cluster.folder.exists()
    with pytest.raises(KeyError):
        pwd.getpwnam("gltestcarol")
