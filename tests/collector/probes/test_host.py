"""CPU time of jobs: whole milliseconds of each row, from the start of a job that has just begun."""

import shutil

import pytest

from collector.job_usage import JobUsage
from collector.probes.host import HostProbe
from collector.readings import HostRow, Moment, Report
from store.segment import Holding
from tests.collector.conftest import START_S, moment
from tests.collector.driving import job
from tests.collector.job_groups import write_v1

MS = START_S * 1000
S_NS = 1_000_000_000


@pytest.fixture
def probe(tmp_path):
    return HostProbe(JobUsage(tmp_path, "n1"), 10.0, 64)


def test_a_job_that_has_just_begun_is_counted_from_its_start(tmp_path, probe):
    probe.note_holds([job("12", 0, 0)])
    write_v1(tmp_path, "12", 7 * S_NS, 640)
    assert probe.read(moment(4)).hosts == (HostRow("12", MS + 4000, 4000, 7000, 640),)
    write_v1(tmp_path, "12", 27 * S_NS, 700)
    assert probe.read(moment(14)).hosts == (HostRow("12", MS + 14_000, 10_000, 20_000, 700),)


def test_of_a_job_that_ran_before_the_agent_did_the_first_reading_only_primes(tmp_path, probe):
    probe.note_holds([job("12", -3600, 0)])
    write_v1(tmp_path, "12", 7000 * S_NS)
    assert probe.read(moment(0)).hosts == ()
    write_v1(tmp_path, "12", 7010 * S_NS)
    assert probe.read(moment(10)).hosts == (HostRow("12", MS + 10_000, 10_000, 10_000, None),)


def test_rows_add_up_to_the_counter(tmp_path, probe):
    probe.note_holds([job("12", 0, 0)])
    told = 0
    for second in range(10, 500, 10):
        write_v1(tmp_path, "12", second * 1_234_567_891)
        told += sum(row.cpu_ms for row in probe.read(moment(second)).hosts)
    assert told == 490 * 1_234_567_891 // 1_000_000


def test_a_gap_a_reset_and_more_than_the_cores_can_do_are_not_told(tmp_path, probe):
    probe.note_holds([job("12", 0, 0)])
    for second, cpu_s in ((10, 10), (60, 60), (70, 5), (80, 5 + 64 * 20)):
        write_v1(tmp_path, "12", cpu_s * S_NS)
        found = probe.read(moment(second)).hosts
        assert len(found) == (1 if second == 10 else 0)
    write_v1(tmp_path, "12", (5 + 64 * 20 + 10) * S_NS)
    assert [row.cpu_ms for row in probe.read(moment(90)).hosts] == [10_000]


def test_a_clock_that_is_set_back_makes_no_row(tmp_path, probe):
    probe.note_holds([job("12", 0, 0)])
    write_v1(tmp_path, "12", S_NS)
    probe.read(moment(10))
    at = moment(20)
    assert probe.read(Moment(at.wall_ms - 15_000, at.steady_s)).hosts == ()


def test_only_what_holds_a_gpu_is_read_and_a_session_never(tmp_path, probe):
    write_v1(tmp_path, "12", S_NS)
    assert probe.read(moment(0)).hosts == ()
    session = Holding(kind="session", cluster="c", job_id="12", start_ms=MS, devices=(0,))
    probe.note_holds([session])
    assert probe.read(moment(10)).hosts == ()
    assert probe.read(moment(60)).error == ""


def test_a_node_on_which_nothing_counts_says_what_to_do(probe):
    probe.note_holds([job("12", 0, 0)])
    said = [probe.read(moment(second)).error for second in range(10, 80, 10)]
    assert [bool(error) for error in said] == [False] * 5 + [True] * 2  # its groups may not be made yet
    assert "jobacct_gather/cgroup" in said[-1]
    probe.note_holds([])
    assert probe.read(moment(80)).error == ""


def test_a_group_that_goes_before_the_hold_does_is_no_problem(tmp_path, probe):
    probe.note_holds([job("12", 0, 0)])
    folder = write_v1(tmp_path, "12", S_NS)
    probe.read(moment(10))
    shutil.rmtree(folder)
    assert [probe.read(moment(second)) for second in range(20, 120, 10)] == [Report()] * 10
