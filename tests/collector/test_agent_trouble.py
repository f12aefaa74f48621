"""What goes wrong costs what it must and nothing else: GPUs, driver, probes, attribution, clock and disk."""

import logging
import time

import pytest

from collector.readings import Moment, Report
from store.segment import AccountingRun, Event
from tests.collector.conftest import START_S, moment
from tests.collector.driving import MS, Daemon, NoAttribution, times
from tests.collector.test_segmenter import column


@pytest.fixture
def daemon(node):
    return Daemon(node, NoAttribution())


def test_a_lost_gpu_is_told_with_the_time_it_is_missing(daemon):
    daemon.start("count=2\n")
    daemon.to(range(1, 11), "count=2\n")
    daemon.to(range(11, 31), "count=2\ngpu.1.lost=1\n")
    last = daemon.finish(35, "count=2\ngpu.1.lost=1\n")
    assert [(event.kind, event.device) for event in last.events] == [("gpu_lost", 1), ("agent_stopped", None)]
    (null,) = [null for null in last.nulls if null.metric == "util_pct"]
    assert (null.device, null.metric, null.reason) == (1, "util_pct", "gpu_lost")
    assert (null.from_ms, null.to_ms) == (MS + 10_000, MS + 35_000)
    assert set(column(last.samples, "device")) == {0}


def test_without_a_driver_the_heartbeat_goes_on_with_one_sentence(daemon, caplog):
    missing = "return.nvmlInit = DRIVER_NOT_LOADED\n"
    daemon.start(missing)
    daemon.to(range(1, 71), missing)
    first, second = daemon.shipped
    assert (first.samples.rows, second.samples.rows) == (0, 0)
    assert [event.kind for event in first.events] == ["agent_started", "driver_missing"]
    assert "driver_missing" not in [event.kind for event in second.events]
    (gpu,) = [run for run in second.probes if run.probe == "gpu"]
    assert not gpu.ok
    assert "nvidia-smi" in gpu.error
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1
    daemon.to(range(71, 141))
    daemon.finish(145)
    assert [at for segment in daemon.shipped for at in times(segment)] == [140, 145]  # within a minute of its coming


def test_a_driver_that_hangs_does_not_stop_the_heartbeat_and_its_late_answer_is_dropped(node):
    daemon = Daemon(node, NoAttribution(), driver_timeout_s=0.5)
    hang = "latency_us.nvmlDeviceGetPowerUsage = 60000000\n"
    daemon.start()
    daemon.to(range(1, 11))
    daemon.to([20, 30], hang)
    daemon.agent.beat(moment(70), reads=True)
    assert daemon.shipped[-1].samples.rows == 0
    (gpu,) = [run for run in daemon.shipped[-1].probes if run.probe == "gpu"]
    assert "has not answered for" in gpu.error
    node.set(80, "")  # the driver answers again
    deadline = time.monotonic() + 10
    while not daemon.agent._segmenter._table.rows:
        assert time.monotonic() < deadline
        daemon.agent.beat(node.set(90, ""), reads=True)
    assert times(daemon.finish(95)) == [90, 95]


class Surprise:
    name = "surprise"
    needs_driver = True
    every_s = 0.0

    def read(self, moment):
        raise RuntimeError("nobody thought of this")


def test_a_surprise_in_one_probe_leaves_the_others(node, caplog):
    daemon = Daemon(node, NoAttribution(), [Surprise()])
    daemon.start()
    daemon.to(range(1, 11))
    (segment,) = daemon.shipped
    assert segment.samples.rows == 1
    (run,) = [run for run in segment.probes if run.probe == "surprise"]
    assert (run.ok, run.error) == (False, "RuntimeError: nobody thought of this")


class Broken:
    def changed(self):
        return False

    def holdings(self, now_ms, devices, processes):
        raise OSError("the directory is gone")


def test_an_attribution_that_fails_changes_nothing(node):
    daemon = Daemon(node, Broken())
    daemon.start()
    daemon.to(range(1, 11))
    (run,) = [run for run in daemon.shipped[0].probes if run.probe == "attribution"]
    assert not run.ok


class Sacct:
    name = "sacct"
    needs_driver = False
    every_s = 300.0

    def __init__(self):
        self.asked = []

    def read(self, moment):
        self.asked.append(moment.steady_s)
        run = AccountingRun(cluster="c", db_index=1, job_id_raw="7", job_id="7", state="COMPLETED")
        return Report(accounting=(run,), count=1)


def test_a_slow_probe_has_its_own_rhythm_and_its_finds_travel_in_the_segment(node):
    sacct = Sacct()
    daemon = Daemon(node, NoAttribution(), [sacct])
    daemon.start()
    daemon.to([1])
    deadline = time.monotonic() + 10
    while not daemon.agent._segmenter._accounting:
        assert time.monotonic() < deadline
        daemon.to([1])
    daemon.to(range(2, 21))
    assert len(sacct.asked) == 1
    assert [run.job_id for segment in [*daemon.shipped, daemon.finish(25)] for run in segment.accounting] == ["7"]


def test_a_clock_that_was_set_is_told(daemon):
    daemon.start()
    daemon.to(range(1, 11))
    daemon.node.set(3620, "")
    daemon.agent.beat(Moment((START_S + 3620) * 1000, 5020.0), reads=True)
    kinds = [event.kind for segment in [*daemon.shipped, daemon.finish(3630)] for event in segment.events]
    assert "clock_stepped" in kinds


def test_what_went_wrong_with_a_segment_travels_in_the_next(daemon):
    daemon.complaints = (Event(ts_ms=MS, kind="rows_dropped", detail="8 rows"),)
    daemon.start()
    daemon.to(range(1, 11))
    assert "rows_dropped" in [event.kind for event in daemon.finish(15).events]


def test_without_a_buffer_the_agent_takes_readings_in_between(daemon):
    no_buffer = "gpu.*.return.nvmlDeviceGetSamples = NOT_SUPPORTED\n"
    daemon.start(no_buffer)
    daemon.to(range(1, 3), no_buffer + "gpu.0.util_gpu=100\n")
    daemon.to(range(3, 11), no_buffer)
    assert column(daemon.shipped[0].samples, "util_pct") == [200]
