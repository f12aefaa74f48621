"""The order of things at each beat, on stand-in GPUs and a clock that the test sets."""

import pytest

from collector.job_usage import JobUsage
from collector.probes.host import HostProbe
from collector.sessions import Sessions
from store.catalog import HOST
from tests.collector.driving import MS, Daemon, Dropfiles, holders, job, times
from tests.collector.job_groups import write_v1
from tests.collector.test_segmenter import column


@pytest.fixture
def attribution():
    return Dropfiles()


@pytest.fixture
def daemon(node, attribution):
    return Daemon(node, attribution)


def test_the_first_segment_is_short_and_the_next_are_a_minute(daemon):
    daemon.start()
    daemon.to(range(1, 75))
    assert [times(segment) for segment in daemon.shipped] == [[10], [20, 30, 40, 50, 60, 70]]
    first, second = daemon.shipped
    assert (first.first_ms, first.last_ms) == (MS, MS + 10_000)
    assert (second.first_ms, second.last_ms) == (MS + 10_000, MS + 70_000)
    assert [event.kind for event in first.events] == ["agent_started"]
    assert {run.probe: run.runs for run in second.probes} == {"gpu": 6, "processes": 6, "attribution": 6}


def test_a_job_that_begins_closes_the_segment_within_a_second_so_each_row_has_one_holder(daemon, attribution):
    daemon.start()
    daemon.to(range(1, 24))
    attribution.write(job("7", 23, 0))
    daemon.to(range(24, 31))
    attribution.write(job("7", 23, 0, end_s=34))
    daemon.to(range(35, 41))
    last = daemon.finish(43)
    rows = [row for segment in daemon.shipped for row in zip(times(segment), holders(segment), strict=True)]
    assert rows == [(10, None), (20, None), (24, None), (30, 0), (35, 0), (40, None), (43, None)]
    spans = [span for segment in daemon.shipped for span in column(segment.samples, "span_ms")]
    assert spans == [10_000, 10_000, 4000, 6000, 5000, 5000, 3000]
    said = {(holding.job_id, holding.end_ms) for segment in daemon.shipped for holding in segment.holdings}
    assert said == {("7", MS + 34_000)}
    assert last.holdings == ()


def test_what_a_job_does_on_the_cores_goes_with_its_hold(node, attribution, tmp_path):
    daemon = Daemon(node, attribution, [HostProbe(JobUsage(tmp_path, "n1"), 10.0, 64)])
    daemon.start()
    daemon.to(range(1, 24))
    write_v1(tmp_path, "7", 0)
    attribution.write(job("6", 20), job("7", 23, 0))
    daemon.to(range(24, 30))
    write_v1(tmp_path, "7", 14_000_000_000, 300)
    daemon.to(range(30, 40))
    write_v1(tmp_path, "7", 20_000_000_000, 400)
    daemon.finish(40)
    told = [
        [row, segment.holdings[row[2]].job_id]
        for segment in daemon.shipped
        for row in zip(*(column(segment.hosts, name) for name in HOST), strict=True)
    ]
    assert told == [[(MS + 30_000, 7000, 1, 14_000, 300), "7"], [(MS + 40_000, 10_000, 1, 6000, 400), "7"]]


def test_the_cores_are_read_while_the_driver_hangs(node, attribution, tmp_path):
    daemon = Daemon(node, attribution, [HostProbe(JobUsage(tmp_path, "n1"), 10.0, 64)], driver_timeout_s=0.5)
    attribution.write(job("7", 0, 0))
    daemon.start()
    daemon.to(range(1, 11))
    write_v1(tmp_path, "7", 20_000_000_000)
    hang = "latency_us.nvmlDeviceGetMemoryInfo = 60000000\n"
    daemon.to([20], hang)
    daemon.to([21])
    daemon.finish(30)
    assert [cpu_ms for segment in daemon.shipped for cpu_ms in column(segment.hosts, "cpu_ms")][:1] == [20_000]


def test_a_job_that_came_and_went_between_two_readings_is_told(daemon, attribution):
    daemon.start()
    daemon.to(range(1, 24))
    attribution.write(job("7", 22, 0, end_s=23))
    daemon.to(range(24, 26))
    assert [(holding.job_id, holding.end_ms) for holding in daemon.shipped[-1].holdings] == [("7", MS + 23_000)]


def test_a_job_that_runs_when_the_agent_starts_holds_its_first_row(daemon, attribution):
    attribution.write(job("7", -500, 0))
    daemon.start()
    daemon.to(range(1, 11))
    assert column(daemon.shipped[0].samples, "holding") == [0]


def test_the_last_row_is_taken_when_it_is_asked_to_stop(daemon):
    daemon.start()
    daemon.to(range(1, 15))
    last = daemon.finish(17)
    assert times(last) == [17]
    assert [event.kind for event in last.events] == ["agent_stopped"]


def test_the_number_of_processes_stands_in_the_row(daemon):
    scenario = "gpu.0.proc.0 = pid=self type=C mem=1GiB\n"
    daemon.start(scenario)
    daemon.to(range(1, 11), scenario)
    assert column(daemon.shipped[0].samples, "processes") == [1]


def test_the_baseline_is_learnt_while_empty_and_changes_at_the_edges_only(daemon):
    busy = "gpu.0.mem_used=20GiB\ngpu.0.proc.0 = pid=self type=C mem=20GiB\n"
    daemon.start("gpu.0.mem_used=4MiB\n")
    daemon.to(range(1, 21), "gpu.0.mem_used=4MiB\n")
    daemon.to(range(21, 71), busy)
    assert [segment.devices[0].baseline_mib for segment in daemon.shipped] == [None, 4]
    assert daemon.floors == {daemon.node.inventory.devices[0].uuid: 4}


def test_sessions_on_a_host_without_slurm(node):
    daemon = Daemon(node, Sessions("n1", "c", 600_000, []))
    work = "gpu.0.util_gpu=90\ngpu.0.proc.0 = pid=self type=C mem=1GiB\n"
    daemon.start("count=2\n")
    daemon.to(range(1, 21), "count=2\n")
    daemon.to(range(21, 41), "count=2\n" + work)
    daemon.to(range(41, 51), "count=2\n")
    last = daemon.finish(55, "count=2\n")
    (holding,) = last.holdings
    assert (holding.kind, holding.start_ms, holding.end_ms, holding.devices) == ("session", MS + 30_000, None, (0,))
    held = [
        (at, device)
        for segment in daemon.shipped
        for at, device, holder in zip(times(segment), column(segment.samples, "device"), holders(segment), strict=True)
        if holder is not None
    ]
    assert held == [(40, 0), (50, 0), (55, 0)]
