"""The order of things at each beat, on stand-in GPUs and a clock that the test sets."""

import logging
import time

import pytest

from collector.agent import Agent
from collector.baseline import Baselines
from collector.holdings import NoAttribution
from collector.readings import Moment, Report
from collector.sessions import Sessions
from collector.settings import CollectorSettings
from store.segment import AccountingRun, Event, Holding, decode, encode
from tests.collector.conftest import START_S, moment
from tests.collector.test_segmenter import ORIGIN, column

MS = 1000 * START_S


class Dropfiles:
    """An attribution that the test writes: holds by GPU, noticed within the second."""

    def __init__(self):
        self.now = ()
        self.news = False

    def write(self, *holdings):
        self.now, self.news = holdings, True

    def changed(self):
        return self.news

    def holdings(self, now_ms, devices, processes):
        self.news = False
        found, self.now = self.now, tuple(holding for holding in self.now if holding.end_ms is None)
        return found


def job(job_id, start_s, *devices, end_s=None):
    end_ms = None if end_s is None else MS + end_s * 1000
    return Holding(kind="job", cluster="c", job_id=job_id, start_ms=MS + start_s * 1000, end_ms=end_ms, devices=devices)


class Daemon:
    """An agent that is beaten by hand; ``shipped`` is what came out, through its bytes."""

    def __init__(self, node, attribution, probes=(), **settings):
        self.node = node
        self.shipped = []
        self.complaints = ()
        self.floors = {}
        self.agent = Agent(
            CollectorSettings(**settings),
            ORIGIN,
            node.inventory,
            [node.gpu, node.processes, *probes],
            attribution,
            Baselines(self.floors),
            self.ship,
        )

    def ship(self, segment):
        self.shipped.append(decode(encode(segment)))
        return self.complaints

    def start(self, scenario=""):
        self.agent.start(self.node.set(0, scenario))

    def to(self, seconds, scenario=""):
        """Beats once a second up to and including the given one, from the one before."""
        for second in seconds:
            self.agent.beat(self.node.set(second, scenario), reads=second % 10 == 0)

    def finish(self, at_s, scenario=""):
        self.agent.finish(self.node.set(at_s, scenario))
        return self.shipped[-1]


@pytest.fixture
def attribution():
    return Dropfiles()


@pytest.fixture
def daemon(node, attribution):
    return Daemon(node, attribution)


def times(segment):
    return [(ts_ms - MS) / 1000 for ts_ms in column(segment.samples, "ts_ms")]


def holders(segment):
    return column(segment.samples, "holding")


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


def test_a_lost_gpu_is_told_with_the_time_it_is_missing(daemon):
    daemon.start("count=2\n")
    daemon.to(range(1, 11), "count=2\n")
    daemon.to(range(11, 31), "count=2\ngpu.1.lost=1\n")
    last = daemon.finish(35, "count=2\ngpu.1.lost=1\n")
    assert [(event.kind, event.device) for event in last.events] == [("gpu_lost", 1), ("agent_stopped", None)]
    (null,) = last.nulls
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
