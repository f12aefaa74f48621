"""Slurm's own list is the one that slurmd has had since it began, or it is not known."""

import os
import time

import pytest

from collector.carryover import Carryover, ListedGpu
from collector.gpu_list import GpuList
from collector.slurmd import cluster_name, config_file, find_slurmd, keeps_external_step
from tests.collector.slurmd_program import BTIME_S, Slurmd

BEGAN_S = 1000.0
NOW_MS = round((BTIME_S + BEGAN_S) * 1000) + 1000
LATER_MS = NOW_MS + 3_600_000


@pytest.fixture
def slurmd(tmp_path):
    return Slurmd(tmp_path / "slurmd")


def minors(gpu_list):
    return None if gpu_list.listed is None else [gpu.minor for gpu in gpu_list.listed.gpus]


def read(slurmd, now_ms=NOW_MS, carried=None):
    gpu_list = GpuList(slurmd.where, Carryover(boot="b") if carried is None else carried)
    gpu_list.look(now_ms)
    return gpu_list


def read_again(gpu_list, now_ms):
    """Looks until nothing is being read any more."""
    gpu_list.look(now_ms)
    deadline_s = time.monotonic() + 20
    while gpu_list.is_pending:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
        gpu_list.look(now_ms)


def told(gpu_list):
    return [event.kind for event in gpu_list.take_events()]


def test_it_is_read_once_for_each_start_of_slurmd_and_as_slurmd_was_started(slurmd):
    slurmd.begin(20, BEGAN_S, "-N", "n1")
    slurmd.says(("/dev/nvidia[73,71]", 2), ("/dev/nvidia72", 1))
    gpu_list = read(slurmd)
    gpu_list.look(LATER_MS)
    assert minors(gpu_list) == [73, 71, 72]
    assert gpu_list.listed.source == "slurmd -G"
    assert slurmd.calls == [f"-G -L /dev/null -N n1 -f {slurmd.config}"]
    slurmd.end(20)
    gpu_list.look(LATER_MS)
    assert minors(gpu_list) == [73, 71, 72], "while it is being restarted"
    slurmd.begin(21, BEGAN_S + 4000)
    slurmd.says(("/dev/nvidia[71-73]", 3))
    read_again(gpu_list, LATER_MS)
    assert minors(gpu_list) == [71, 72, 73]
    assert told(gpu_list) == ["gpu_list_changed"]


def test_a_restart_of_the_daemon_keeps_the_list_that_slurmd_began_with(slurmd):
    """AutoDetect would not find a GPU that was lost since, and every place behind it would be another's."""
    slurmd.begin(20, BEGAN_S)
    carried = Carryover(boot="b")
    read(slurmd, carried=carried)
    slurmd.says(("/dev/nvidia[1-3]", 3))
    assert minors(read(slurmd, LATER_MS, carried)) == [0, 1, 2, 3]
    carried.boot = "another"
    assert minors(read(slurmd, LATER_MS, carried)) == [1, 2, 3]


def test_of_several_slurmd_the_node_s_own_and_no_child_of_it(slurmd):
    slurmd.begin(19, 10, "-N", "n2")
    slurmd.begin(20, 20, "-Nn1")
    slurmd.begin(30, 30, "-Nn1")
    slurmd.process(18, "slurmd", ["slurmd", "-G"], 1)
    slurmd.process(17, "slurmctld", ["slurmctld"], 1)
    found = find_slurmd("n1", None, slurmd.proc)
    assert found is not None
    assert (found.pid, found.option("N"), found.option("f")) == (20, "n1", "")


@pytest.mark.parametrize("trouble", ["fails", "names no files"])
def test_without_an_answer_gres_conf_is_read(slurmd, trouble):
    slurmd.begin(20, BEGAN_S)
    slurmd.prints("slurmd: Gres Name=gpu Type=(null) Count=2 Index=0 ID=1 File=(null) (null)\n")
    if trouble == "fails":
        slurmd.fails("slurmd: fatal: can't stat gres.conf file /dev/nvidia1")
    (slurmd.folder / "gres.conf").write_text("NodeName=n[1-2] Name=gpu File=/dev/nvidia[74-75]\n")
    os.utime(slurmd.folder / "gres.conf", (BTIME_S, BTIME_S))
    gpu_list = read(slurmd)
    assert minors(gpu_list) == [74, 75]
    assert gpu_list.listed.source == str(slurmd.folder / "gres.conf")
    assert told(gpu_list) == []


def test_what_cannot_be_read_is_told_once_with_both_reasons(slurmd):
    slurmd.begin(20, BEGAN_S)
    slurmd.program.unlink()
    (slurmd.folder / "gres.conf").write_text("AutoDetect=nvml\n")
    gpu_list = read(slurmd)
    gpu_list.look(LATER_MS)
    assert gpu_list.listed is None
    assert "there is no program" in gpu_list.problem
    assert "AutoDetect=nvml" in gpu_list.problem
    assert told(gpu_list) == ["gpu_list_unknown"]


def test_what_slurmd_complains_of_is_passed_on(slurmd):
    slurmd.fails("slurmd: error: slurmd initialization failed")
    problem = read(slurmd).problem
    assert problem.endswith("-G says: slurmd: error: slurmd initialization failed, and no gres.conf was found")


@pytest.mark.parametrize("name", ["slurm.conf", "gres.conf"])
def test_a_file_changed_after_slurmd_began_may_be_of_another_list(slurmd, name):
    slurmd.begin(20, BEGAN_S)
    for each in ("slurm.conf", "gres.conf"):
        (slurmd.folder / each).touch()
        changed_s = BTIME_S + BEGAN_S + (600 if each == name else 20)  # a copy of configless slurmd is that young
        os.utime(slurmd.folder / each, (changed_s, changed_s))
    gpu_list = read(slurmd, LATER_MS)
    doubt = f"{slurmd.folder / name} was changed after slurmd began: restart slurmd"
    assert gpu_list.listed.doubt == gpu_list.problem == doubt
    assert told(gpu_list) == ["gpu_list_unknown"]


@pytest.mark.parametrize(("known", "is_sure"), [(4, True), (5, False), (None, False)])
def test_what_autodetect_finds_later_is_sure_only_where_no_gpu_was_lost(slurmd, known, is_sure):
    slurmd.begin(20, BEGAN_S)
    (slurmd.folder / "gres.conf").write_text("# ours\n  autodetect = nvml\n")
    for each in ("slurm.conf", "gres.conf"):
        os.utime(slurmd.folder / each, (BTIME_S, BTIME_S))
    for number in range(known or 0):
        (slurmd.proc / f"driver/nvidia/gpus/0000:{number}1:00.0").mkdir(parents=True)
    assert (read(slurmd, LATER_MS).problem == "") is is_sure
    assert read(slurmd).problem == "", "just after slurmd began it is the list that slurmd has"


def test_where_no_slurmd_is_seen_the_list_is_read_and_not_kept(slurmd):
    carried = Carryover(boot="b")
    assert minors(read(slurmd, carried=carried)) == [0, 1, 2, 3]
    slurmd.says(("/dev/nvidia[1-3]", 3))
    assert minors(read(slurmd, carried=carried)) == [1, 2, 3]


def test_the_cluster_is_called_as_slurm_has_it(slurmd):
    slurmd.config.write_text("# ClusterName=old\n clustername = Alpha-1 # ours\nSlurmctldHost=x\n")
    assert cluster_name(config_file(str(slurmd.config), None)) == "alpha-1"
    slurmd.config.unlink()
    assert cluster_name(config_file(str(slurmd.config), None)) == ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("PrologFlags=Alloc,Contain", True),
        (" prologflags = x11 # ssh", True),
        ("PrologFlags=Alloc", False),
        ("#PrologFlags=Contain", False),
        ("", False),
    ],
)
def test_whether_every_job_has_an_external_step(slurmd, line, expected):
    slurmd.config.write_text(f"ClusterName=c\n{line}\n")
    assert keeps_external_step(slurmd.config) is expected


def test_a_device_file_says_its_minor_number_itself(slurmd):
    """Whatever it is called: /dev/null is 1:3."""
    slurmd.says(("/dev/null", 1), ("/nowhere/nvidia0", 1))
    assert read(slurmd).listed.gpus == (ListedGpu(3), ListedGpu(None))
