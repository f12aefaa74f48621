"""What a crash of a node leaves behind is no job: folders of control groups without a process."""

from pathlib import Path

import pytest

from tests.fakenvml import child_env, write_scenario
from tests.fakenvml.building import obstacle
from tests.slurm.product import hooks_installed, once
from tests.slurm.running import SlurmCluster


def test_a_job_that_a_crash_took_is_not_found_again(slurm_cluster: SlurmCluster, tmp_path: Path) -> None:
    if reason := obstacle():
        pytest.skip(reason)
    node = slurm_cluster.nodes[0]
    scenario = tmp_path / "scenario"
    write_scenario(scenario, "count = 4\n")
    with hooks_installed(slurm_cluster):
        job = slurm_cluster.submit("alice", "--gres=gpu:1", "--no-requeue", f"--nodelist={node}", wrap="exec sleep 300")
        slurm_cluster.eventually(lambda: slurm_cluster.hook_environment(node, job, "prolog"))
        slurm_cluster.wait(job, {"RUNNING"})
        before = once(slurm_cluster, node, tmp_path, child_env(scenario))["holdings"]
        slurm_cluster.change_node(node, "kill")
        slurm_cluster.change_node(node, "start")
        # The controller goes on calling it RUNNING for minutes.
        after = once(slurm_cluster, node, tmp_path, child_env(scenario))["holdings"]
        slurm_cluster.as_root("scancel", str(job))
        slurm_cluster.wait(job)
    assert [holding["job_id"] for holding in before] == [str(job)]
    assert list(Path("/sys/fs/cgroup").glob(f"*/slurm_{node}/uid_*/job_{job}")), "the folders are there still"
    assert after == []
