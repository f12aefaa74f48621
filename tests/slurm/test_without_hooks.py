"""On a node without our hooks: what Slurm's control groups and steps say, held against what the jobs can open."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakenvml import child_env, write_scenario
from tests.fakenvml.building import obstacle
from tests.slurm.product import once
from tests.slurm.running import SlurmCluster

# Each task prints its process id, as the node counts, before it becomes `sleep`.
SAYS_PID = "sh -c 'echo $SLURM_PROCID $$; exec sleep 120'"


@pytest.fixture
def jobs(slurm_cluster: SlurmCluster) -> Iterator[dict[str, int]]:
    """Three jobs that hold the four GPUs of the node: a batch job, one bound to tasks, and an idle allocation."""
    here = f"--nodelist={slurm_cluster.nodes[0]}"
    made = {
        "batch": slurm_cluster.submit("alice", "--gres=gpu:1", here, script="#!/bin/sh\nexec sleep 120\n"),
        "bound": slurm_cluster.submit(
            "bob", "-n2", "--gpus-per-task=1", here, script=f"#!/bin/sh\nunset SLURM_JOB_GPUS\nexec srun {SAYS_PID}\n"
        ),
        "idle": salloc(slurm_cluster, "alice", here),
    }
    yield made
    for job in made.values():
        slurm_cluster.as_root("scancel", str(job))
        slurm_cluster.wait(job)


def salloc(cluster: SlurmCluster, user: str, *options: str) -> int:
    cluster.as_user(user, "salloc", "--no-shell", "--gres=gpu:1", "--job-name=idle", *options)
    return int(cluster.as_root("squeue", "-h", "-u", user, "-n", "idle", "-o", "%A"))


def test_jobs_are_found_by_their_steps_and_processes(
    slurm_cluster: SlurmCluster, jobs: dict[str, int], tmp_path: Path
) -> None:
    if reason := obstacle():
        pytest.skip(reason)
    node = slurm_cluster.nodes[0]
    truth = {
        name: slurm_cluster.eventually(lambda job=job: slurm_cluster.hook_environment(node, job, "prolog"))
        for name, job in jobs.items()
    }
    gpus = {name: sorted(map(int, found["SLURM_JOB_GPUS"].split(","))) for name, found in truth.items()}
    pids = slurm_cluster.eventually(lambda: tasks(slurm_cluster, "bob", jobs["bound"], 2))
    scenario = tmp_path / "scenario"
    working = "".join(f"gpu.{gpu}.proc.0 = pid={pid}\n" for gpu, pid in zip(gpus["bound"], pids, strict=True))
    write_scenario(scenario, f"count = 4\n{working}")
    found = once(slurm_cluster, node, tmp_path, child_env(scenario))
    held = {holding["job_id"]: holding for holding in found["holdings"]}
    assert (held[str(jobs["batch"])]["devices"], held[str(jobs["batch"])]["source"]) == (gpus["batch"], "step")
    assert (held[str(jobs["bound"])]["devices"], held[str(jobs["bound"])]["user"]) == (gpus["bound"], "bob")
    assert str(jobs["idle"]) not in held, "which GPU it holds only Slurm's controller knows"
    assert {holding["cluster"] for holding in held.values()} == {truth["batch"]["SLURM_CLUSTER_NAME"]}
    begun_s = slurm_cluster.eventually(lambda: begins(slurm_cluster, held))
    assert all(abs(int(begun_s[job]) * 1000 - holding["start_ms"]) <= 3000 for job, holding in held.items())


def begins(cluster: SlurmCluster, jobs: Collection[str]) -> dict[str, str] | None:
    """Return when jobs began, in s, once accounting has them all: slurmctld tells it now and then."""
    told = {row["JobIDRaw"]: row["Start"] for row in cluster.sacct("-X", fields=("JobIDRaw", "Start"))}
    return {job: told[job] for job in jobs} if all(told.get(job, "").isdigit() for job in jobs) else None


def tasks(cluster: SlurmCluster, user: str, job: int, count: int) -> list[int] | None:
    """Return the process ids of a job's tasks, by rank, once all have said theirs."""
    path = cluster.home(user) / f"slurm-{job}.out"
    lines: list[Any] = sorted(line.split() for line in path.read_text().splitlines()) if path.exists() else []
    return [int(pid) for _, pid in lines] if len(lines) == count else None


def test_a_site_s_own_prolog_tells_of_an_idle_allocation(slurm_cluster: SlurmCluster, tmp_path: Path) -> None:
    """Jobstats' Prolog writes a file for each GPU of a job; its Epilog removes it."""
    if reason := obstacle():
        pytest.skip(reason)
    node = slurm_cluster.nodes[0]
    scenario = tmp_path / "scenario"
    write_scenario(scenario, "count = 4\n")
    hook = slurm_cluster.prolog_folder / "60-gpustat"
    hook.write_text(
        "#!/bin/sh\nmkdir -p /run/gpustat\nIFS=,\n"
        'for gpu in $SLURM_JOB_GPUS; do echo "$SLURM_JOB_ID $SLURM_JOB_UID" > "/run/gpustat/$gpu"; done\n'
    )
    hook.chmod(0o755)
    try:
        job = salloc(slurm_cluster, "alice", "--gres=gpu:2", f"--nodelist={node}")
        given = slurm_cluster.eventually(lambda: slurm_cluster.hook_environment(node, job, "prolog"))
        (holding,) = once(slurm_cluster, node, tmp_path, child_env(scenario))["holdings"]
    finally:
        hook.unlink()
    slurm_cluster.as_root("scancel", str(job))
    slurm_cluster.wait(job)
    assert (holding["job_id"], holding["user"], holding["source"]) == (str(job), "alice", "site")
    assert holding["devices"] == sorted(map(int, given["SLURM_JOB_GPUS"].split(",")))
    assert once(slurm_cluster, node, tmp_path, child_env(scenario))["holdings"] == [], "the file is there still"
