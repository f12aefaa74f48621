"""Jobs without a drop-file: found by the site's files, their steps or their processes; never on another's GPU."""

import os
from pathlib import Path

import pytest

from tests.collector.slurmd_program import BTIME_S, RECORD
from tests.collector.test_attribution import MS, Node, T, working


class Bare(Node):
    """A node without our hooks."""

    def __init__(self, path):
        super().__init__(path)
        self.folder.rmdir()

    def step(self, job, step, pid, began_s=0.0, **environment):
        """Starts a process of a step, ``began_s`` after T; its environment is Slurm's."""
        folder = self.groups / "freezer" / "slurm" / "uid_1001" / f"job_{job}" / f"step_{step}"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "cgroup.procs").open("a") as file:
            file.write(f"{pid}\n")
        self.slurmd.process(pid, "python", ["python"], T + began_s - BTIME_S)
        given = {"SLURM_JOB_ID": job} | environment if environment else {}
        text = "\0".join(f"{key}={value}" for key, value in given.items())
        (self.slurmd.proc / str(pid) / "environ").write_text(text)
        self.job_of[pid] = str(job)

    def ends(self, job):
        for file in (self.groups / "freezer" / "slurm" / "uid_1001" / f"job_{job}").rglob("cgroup.procs"):
            file.write_text("")

    def file(self, gpu, text):
        self.site.mkdir(exist_ok=True)
        (self.site / gpu).write_text(text)

    @property
    def sources(self):
        return {holding.job_id: holding.source for holding in self.found}


@pytest.fixture
def node(tmp_path):
    return Bare(tmp_path)


@pytest.fixture
def hooked(tmp_path):
    """The same with our hooks."""
    made = Bare(tmp_path)
    made.folder.mkdir()
    return made


def test_a_job_is_where_its_processes_are_from_its_oldest_one_until_it_is_gone(node):
    node.step(12, "extern", 100, -50)
    node.step(12, "batch", 101, -49)
    assert node.ask(0) == ([], [])
    assert node.ask(10, {2: (working(101),)}) == ([("12", -50, (2,))], [])
    assert node.ask(20, {2: ()}) == ([("12", -50, (2,))], []), "it holds its GPU also while it rests"
    assert node.ask(30, {3: (working(101),)}) == ([("12", -50, (2, 3))], [])
    assert (node.sources, node.found[0].uid, node.found[0].cluster) == ({"12": "cgroup"}, 1001, "site")
    node.ends(12)
    assert node.ask(40) == ([], [("12", -50, 30, (2, 3))])
    assert node.ask(50) == ([], [])
    assert node.told() == []


def test_the_batch_step_names_all_gpus_of_the_job(node):
    node.step(12, "batch", 99, 0)  # slurmstepd
    node.step(12, "batch", 100, 1, SLURM_JOB_GPUS="1,3", SLURM_GPUS_PER_TASK="1")
    node.step(12, "batch", 101, 2, SLURM_JOB_GPUS="0")  # what a user has set for a child of it
    node.step(12, "0", 102, 3, SLURM_STEP_GPUS="0", SLURM_JOB_GPUS="1,3", SLURMD_TRES_BIND="gpu:per_task:1")
    assert node.ask(5) == ([("12", 0, (1, 3))], [])
    assert node.sources == {"12": "step"}
    assert node.ask(6, {1: (working(102),)}) == ([("12", 0, (1, 3))], [])
    assert node.told() == []


def test_off_the_batch_node_the_steps_own_gpus_count_and_never_the_job_s(node):
    node.step(12, "0", 100, 0, SLURM_JOB_GPUS="2", SLURM_STEP_GPUS="0")
    node.step(12, "1", 101, 0, SLURM_JOB_GPUS="2", SLURM_STEP_GPUS="3")
    node.step(13, "0", 102, 0, SLURM_JOB_GPUS="1")
    assert node.ask(5) == ([("12", 0, (0, 3))], [])


def test_gpus_bound_to_tasks_are_only_where_their_processes_are(node):
    for pid in (100, 101):
        node.step(12, "0", pid, 0, SLURM_STEP_GPUS="0", SLURMD_TRES_BIND="gpu:per_task:1")
    assert node.ask(5) == ([], [])
    assert node.ask(6, {2: (working(100),), 3: (working(101),)}) == ([("12", 0, (2, 3))], [])
    assert node.sources == {"12": "cgroup"}


def test_without_the_right_to_read_environments_that_source_is_absent(node):
    node.step(12, "batch", 100, 0, SLURM_JOB_GPUS="1")
    (node.slurmd.proc / "100" / "environ").unlink()
    assert node.ask(5, {1: (working(100),)}) == ([("12", 0, (1,))], [])
    assert node.sources == {"12": "cgroup"}


def test_a_step_whose_environment_may_not_be_read_is_not_tried_again(node, monkeypatch):
    node.step(12, "batch", 100, 0, SLURM_JOB_GPUS="1")
    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.read_bytes", forbidding("environ"))
        assert node.ask(5) == ([], [])
    assert node.ask(15) == ([], [])


def forbidding(name):
    """Path.read_bytes as a user without privilege has it; tests run as root."""
    read = Path.read_bytes

    def read_bytes(path):
        if path.name == name:
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    return read_bytes


def test_the_site_s_own_files_outrank_steps_and_know_an_idle_allocation(node):
    node.file("0", "12 1001\n")
    node.file("1", "13 1002\n")
    node.file("2", "13 1002\n")
    node.file("x", "?")
    node.step(13, "extern", 100, -9)
    node.step(13, "batch", 101, -8, SLURM_JOB_GPUS="1,2")
    node.groups.joinpath("freezer/slurm/uid_1001/job_13/step_extern").rename(node.groups / "elsewhere")
    assert node.ask(5) == ([("12", 5, (0,)), ("13", -8, (1, 2))], [])
    assert node.sources == {"12": "site", "13": "site"}
    assert [holding.uid for holding in node.found] == [1001, 1002]
    node.file("0", "14 1001\n")
    assert node.ask(15) == ([("13", -8, (1, 2)), ("14", 15, (0,))], [("12", 5, 5, (0,))])
    assert [kind for kind, _ in node.told()] == ["dropfile_refused"]


def test_a_file_that_comes_or_goes_is_noticed_between_two_rows(node):
    node.ask(0)
    assert not node.daemon.changed()
    node.file("0", "12 1001\n")
    assert node.daemon.changed()
    node.ask(1)
    assert not node.daemon.changed()
    (node.site / "0").unlink()
    os.utime(node.site, (1, 1))  # whatever the timer's resolution is
    assert node.daemon.changed()


def test_a_file_that_a_crash_left_is_no_job(node):
    node.file("0", "12 1001\n")
    node.file("1", "13 1001\n")
    node.step(12, "extern", 100)
    node.ends(12)
    node.step(14, "extern", 101)
    node.step(14, "batch", 102)
    assert node.ask(5, {3: (working(102),)}) == ([("14", 0, (3,))], []), "with an external step in every job"


def test_sources_that_disagree_are_told_once_and_the_better_one_counts(node):
    node.file("0", "12 1001\n")
    node.step(12, "batch", 100, 0, SLURM_JOB_GPUS="1")
    for at_s in (5, 15):
        assert node.ask(at_s) == ([("12", 0, (0,))], [])
    assert [kind for kind, _ in node.told()] == ["sources_disagree"]


def test_a_process_that_contradicts_a_site_s_file_disputes_the_order(node):
    node.file("0", "12 1001\n")
    node.step(12, "batch", 100)
    node.ask(5, {1: (working(100),)})
    assert [kind for kind, _ in node.told()] == ["order_disputed"]


def test_jobs_that_are_found_on_one_gpu_are_shared(node):
    node.step(12, "batch", 100)
    node.step(13, "batch", 101)
    node.step(14, "batch", 102)
    node.ask(5, {0: (working(100), working(101)), 1: (working(102),)})
    assert {holding.job_id: holding.shared for holding in node.found} == {"12": True, "13": True, "14": False}


def test_where_shards_are_given_away_a_hold_may_be_one(hooked):
    """Prolog gives a shard's job the place of its GPU as if it were whole (22.05)."""
    hooked.slurmd.prints(
        RECORD.format(count=4, files="/dev/nvidia[0-3]")
        + RECORD.format(count=8, files="/dev/nvidia0").replace("gpu", "shard")
    )
    hooked.prolog(12, "0")
    hooked.prolog(13, "1")
    hooked.prolog(14, "1")
    hooked.ask(5)
    shared = {holding.job_id: (holding.shared, holding.may_share) for holding in hooked.found}
    assert shared == {"12": (False, True), "13": (True, True), "14": (True, True)}


def test_a_restart_of_the_daemon_goes_on_with_what_was_found(node):
    node.step(12, "batch", 100, -5)
    node.step(13, "batch", 101, -5)
    node.ask(0, {0: (working(100),), 1: (working(101),)})
    node.start()
    node.ends(13)
    assert node.ask(60) == ([("12", -5, (0,))], [("13", -5, 0, (1,))])


def test_a_job_that_was_requeued_while_no_daemon_ran_is_another_run(node):
    node.step(12, "batch", 100, -5)
    node.ask(0, {0: (working(100),)})
    node.start()
    node.ends(12)
    node.step(12, "batch", 101, 200)
    assert node.ask(300, {1: (working(101),)}) == ([("12", 200, (1,))], [("12", -5, 0, (0,))])


def test_an_end_waits_until_the_driver_shows_the_gpu_again(node):
    node.step(12, "batch", 100, -5)
    node.ask(0, {0: (working(100),)})
    devices, node.devices = node.devices, []
    node.ends(12)
    assert node.ask(10) == ([], [])
    node.devices = devices
    assert node.ask(20) == ([], [("12", -5, 0, (0,))])


def test_a_drop_file_says_all_of_a_job_and_its_last_processes_make_no_new_one(hooked):
    hooked.step(12, "batch", 100, 0, SLURM_JOB_GPUS="1")
    hooked.prolog(12, "1")
    assert hooked.ask(5, {1: (working(100),)}) == ([("12", 0, (1,))], [])
    assert hooked.sources == {"12": "hook"}
    hooked.epilog(12, 20)
    assert hooked.ask(20, {1: (working(100),)}) == ([], [("12", 0, 20, (1,))])
    assert hooked.ask(21, {1: (working(100),)}) == ([], [])
    assert hooked.told() == []


def test_where_only_some_jobs_have_a_drop_file_the_others_are_found(hooked):
    """Jobs that began before the Prolog was installed."""
    hooked.prolog(12, "1")
    hooked.step(12, "batch", 100)
    hooked.step(13, "batch", 101)
    for at_s in (5, 15):
        assert hooked.ask(at_s, {2: (working(101),)}) == ([("12", 0, (1,)), ("13", 0, (2,))], [])
    assert [kind for kind, _ in hooked.told()] == ["hook_missing"]


def test_a_drop_file_whose_places_cannot_be_told_is_helped_by_processes(hooked):
    hooked.slurmd.says(("/dev/nvidia[0-1]", 2))
    hooked.prolog(12, "7")
    hooked.step(12, "batch", 100)
    assert hooked.ask(5) == ([("12", 0, ())], [])
    assert hooked.ask(6, {3: (working(100),)}) == ([("12", 0, (3,))], [])
    assert (hooked.found[0].source, hooked.found[0].user) == ("cgroup", "alice")
    assert hooked.ask(7) == ([("12", 0, (3,))], [])
    hooked.epilog(12, 9)
    assert hooked.ask(9) == ([], [("12", 0, 9, (3,))])


@pytest.mark.parametrize("root", ["", "unified"])
def test_control_groups_v2(node, root):
    """From a tree like the documented one: it cannot be run here."""
    folder = node.groups / root / "system.slice/slurmstepd.scope/job_12/step_batch/user/task_0"
    folder.mkdir(parents=True)
    (folder / "cgroup.procs").write_text("100\n")
    node.slurmd.process(100, "python", ["python"], T - 7 - BTIME_S)
    (node.slurmd.proc / "100" / "environ").write_text("SLURM_JOB_ID=12\0SLURM_JOB_GPUS=2\0")
    assert node.ask(0) == ([("12", -7, (2,))], [])
    assert node.found[0].start_ms == MS - 7000
