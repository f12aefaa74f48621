import os
from pathlib import Path

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


def test_odd_status_files_are_no_error(node, tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "status").write_bytes(b"Name:\t\xff\xfe\nUid:\tx\n\n")
    node.read(0, "gpu.0.proc.0 = pid=7 type=C mem=1MiB\n")
    (process,) = (
        ProcessesProbe(node.inventory, tmp_path)
        .read(node.set(10, "gpu.0.proc.0 = pid=7 type=C mem=1MiB\n"))
        .processes[0]
    )
    assert process.uid is None
