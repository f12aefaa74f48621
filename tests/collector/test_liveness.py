"""Slurm's control groups, as trees of files: version 1 as on a real node, version 2 as documented."""

import os

import pytest

from collector.liveness import ControlGroups, Life, job_of

FOLDERS = {
    "v1": "freezer/slurm/uid_1001/job_12",
    "v1, several slurmd": "memory/slurm_n1/uid_1001/job_12",
    "v2": "system.slice/slurmstepd.scope/job_12",
    "v2, several slurmd": "system.slice/n1_slurmstepd.scope/job_12",
    "v2 beside v1": "unified/system.slice/slurmstepd.scope/job_12",
}


def group(root, folder, processes=""):
    path = root / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / "cgroup.procs").write_text(processes)


@pytest.mark.parametrize("job", FOLDERS.values(), ids=FOLDERS.keys())
def test_a_job_lives_while_a_step_of_it_has_processes(tmp_path, job):
    groups = ControlGroups(tmp_path, "n1")
    assert groups.life_of("12") is Life.ABSENT
    group(tmp_path, job)
    group(tmp_path, f"{job}/step_batch/user/task_0")
    assert groups.life_of("12") is Life.EMPTY
    group(tmp_path, f"{job}/step_batch/user/task_0", "4711\n")
    assert groups.life_of("12") is Life.ALIVE
    assert groups.life_of("1") is Life.ABSENT
    assert not groups.contained
    group(tmp_path, f"{job}/step_extern", "4712\n")
    groups.life_of("12")
    assert groups.contained


def test_what_slurm_conf_says_of_external_steps_counts_where_slurm_s_groups_are_seen(tmp_path):
    groups = ControlGroups(tmp_path, "n1", keeps_external_step=True)
    assert not groups.contained, "a container's own tree"
    (tmp_path / "freezer/slurm_n1").mkdir(parents=True)
    assert groups.contained
    assert not ControlGroups(tmp_path, "n1").contained


def test_another_node_s_groups_are_not_this_one_s(tmp_path):
    group(tmp_path, "freezer/slurm_n2/uid_1001/job_12", "4711\n")
    assert ControlGroups(tmp_path, "n1").life_of("12") is Life.ABSENT


@pytest.mark.parametrize(
    ("line", "job"),
    [
        ("5:devices:/slurm/uid_1001/job_12/step_0/task_1", "12"),
        ("5:devices:/slurm_n1/uid_1001/job_12/step_batch", "12"),
        ("0::/system.slice/slurmstepd.scope/job_345/step_extern/user/task_0", "345"),
        ("0::/system.slice/n1_slurmstepd.scope/job_345/step_0", "345"),
        ("0::/user.slice/user-1001.slice/job_12", None),
        ("0::/", None),
    ],
)
def test_the_job_of_a_process(tmp_path, line, job):
    (tmp_path / "77").mkdir()
    (tmp_path / "77" / "cgroup").write_text(f"12:pids:/\n{line}\n")
    assert job_of(77, tmp_path) == job


def test_a_process_that_has_ended_or_is_in_no_job(tmp_path):
    assert job_of(77, tmp_path) is None
    assert job_of(os.getpid()) is None
