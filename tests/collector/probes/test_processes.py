import os
from pathlib import Path

import pytest

from collector.probes.processes import ProcessesProbe
from collector.readings import GpuProcess, Reason


def ready(node, scenario):
    node.read(0, scenario)
    return node.processes.read(node.set(10, scenario))


def test_processes_with_their_owner_and_name(node):
    report = ready(node, "gpu.0.proc.0 = pid=self type=C mem=10GiB\n")
    (process,) = report.processes[0]
    assert (process.pid, process.uid, process.used_mib) == (os.getpid(), os.getuid(), 10240)
    assert process.name == Path("/proc/self/comm").read_text().strip()
    assert report.values[0] == {"processes": 1}


def test_a_process_that_has_ended_is_listed_without_owner(node):
    report = ready(node, "gpu.0.proc.0 = pid=4194999 type=C mem=N/A\n")
    assert report.processes[0] == (GpuProcess(4194999, None, "", None),)


def test_graphics_processes_are_not_work(node):
    assert ready(node, "gpu.0.proc.0 = pid=self type=G mem=1GiB\n").processes[0] == ()


def test_a_list_that_cannot_be_read_is_unknown_not_empty(node):
    report = ready(node, "count=2\ngpu.1.return.nvmlDeviceGetComputeRunningProcesses = UNKNOWN\n")
    assert set(report.processes) == {0}
    assert report.values == {0: {"processes": 0}, 1: {"processes": Reason.FAILED}}


def test_a_gpu_lost_here_is_noted(node):
    node.read(0, "count=2\n")
    report = node.processes.read(node.set(10, "count=2\ngpu.1.lost=1\n"))
    assert set(report.processes) == {0}
    assert [event.kind for event in node.inventory.take_events()] == ["gpu_lost"]


def of_status(node, tmp_path, status):
    """The process whose status file holds these bytes."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "status").write_bytes(status)
    node.read(0, "gpu.0.proc.0 = pid=7 type=C mem=1MiB\n")
    at = node.set(10, "gpu.0.proc.0 = pid=7 type=C mem=1MiB\n")
    (process,) = ProcessesProbe(node.inventory, tmp_path).read(at).processes[0]
    return process


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"\x1b[2J\x07rm", "\ufffd[2J\ufffdrm"),
        (b"a\rUid:\t0", "a\ufffdUid:\ufffd0"),
        (b"a\x0bUid:\t0\x1c\xc2\x85", "a\ufffdUid:\ufffd0\ufffd\ufffd"),
        ("\u202egnp.exe".encode(), "\ufffdgnp.exe"),
        (b"<b>x</b>&amp;", "<b>x</b>&amp;"),
        ("日本".encode(), "日本"),
        (b"k" * 500, "k" * 64),
    ],
)
def test_a_name_is_the_program_s_choice_and_harms_nobody(node, tmp_path, name, shown):
    process = of_status(node, tmp_path, b"Name:\t" + name + b"\nUmask:\t0022\nUid:\t1001\t1001\t1001\t1001\n")
    assert (process.name, process.uid) == (shown, 1001)


def test_odd_status_files_are_no_error(node, tmp_path):
    assert of_status(node, tmp_path, b"Name:\t\xff\xfe\nUid:\tx\n\n").uid is None
