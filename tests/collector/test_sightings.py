"""What a segment says of processes, from stand-in GPUs through its bytes."""

import os

from collector.readings import GpuProcess
from collector.sessions import Sessions
from collector.sightings import MOST
from store.segment import ProcessSeen
from tests.collector.driving import MS, Daemon, Dropfiles, job
from tests.collector.test_segmenter import closed, hold, segmenter


def python(pid=7, uid=1001, name="python", used_mib=100):
    return GpuProcess(pid, uid, name, used_mib)


def test_a_process_is_told_from_its_first_to_its_last_sight_with_its_highest_memory():
    made = segmenter(hold("7", 1))
    for at_ms, used_mib in ((10, 100), (20, 900), (30, None), (40, 300)):
        made.note_processes(at_ms, {0: (), 1: (python(used_mib=used_mib),)})
    assert closed(made).processes == (
        ProcessSeen(device=1, pid=7, name="python", uid=1001, from_ms=10, to_ms=40, mem_max_mib=900, holding=0),
    )
    assert closed(made, 120_000).processes == ()


def test_one_that_has_ended_keeps_its_name_and_owner():
    made = segmenter()
    made.note_processes(10, {0: (python(),)})
    made.note_processes(20, {0: (python(uid=None, name="", used_mib=None),)})
    (seen,) = closed(made).processes
    assert (seen.name, seen.uid, seen.to_ms, seen.mem_max_mib, seen.holding) == ("python", 1001, 20, 100, None)


def test_beyond_the_bound_they_are_counted():
    made = segmenter(hold("7", 0))
    made.note_processes(10, {0: [python(pid) for pid in range(1, MOST + 1)], 1: [python(1)]})
    made.note_processes(20, {0: [python(pid) for pid in range(MOST, MOST + 11)]})
    *told, others = closed(made).processes
    assert len(told) == MOST + 1
    assert others == ProcessSeen(device=0, pid=0, from_ms=20, to_ms=20, holding=0, count=10)


def test_on_a_shared_gpu_it_belongs_to_the_hold_of_its_user():
    made = segmenter(hold("7", 0, uid=1001), hold("8", 0, uid=1002), hold("9", 0, uid=1002))
    made.note_processes(10, {0: [python(1, 1001), python(2, 1002), python(3, None), python(4, 0)]})
    assert [seen.holding for seen in closed(made).processes] == [0, None, None, None]


def test_a_session_has_its_process_from_the_first_sight_on(node):
    daemon = Daemon(node, Sessions("n1", "c", 600_000, []))
    mine = "gpu.0.proc.0 = pid=self type=C mem=1GiB\n"
    daemon.start()
    daemon.to(range(1, 20))
    daemon.to(range(20, 46), mine)
    last = daemon.finish(46, mine)
    (seen,) = last.processes
    assert (seen.pid, seen.uid, seen.from_ms, seen.to_ms) == (os.getpid(), os.getuid(), MS + 20_000, MS + 46_000)
    assert last.holdings[seen.holding or 0].start_ms == seen.from_ms
    assert [segment.processes for segment in daemon.shipped[:-1]] == [()] * (len(daemon.shipped) - 1)


def test_a_job_has_the_processes_of_its_own_time(node):
    attribution = Dropfiles()
    daemon = Daemon(node, attribution)
    mine = "gpu.0.proc.0 = pid=self type=C mem=1GiB\n"
    daemon.start()
    attribution.write(job("7", 5, 0))
    daemon.to(range(5, 30), mine)
    attribution.write(job("7", 5, 0, end_s=30))
    daemon.to(range(30, 41))
    daemon.finish(41)
    told = [(segment.holdings[seen.holding].job_id, seen) for segment in daemon.shipped for seen in segment.processes]
    assert [(job_id, seen.from_ms - MS, seen.to_ms - MS) for job_id, seen in told] == [("7", 5000, 20_000)]
