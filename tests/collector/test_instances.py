"""MIG instances as devices of their own: share, memory, programs, and activity by the engine's counters."""

import pytest

from collector.gpu_order import resolve
from collector.probes.activity import ActivityProbe
from tests.collector.driving import Daemon, Dropfiles, job, times
from tests.collector.test_segmenter import column

GIB = 1024
WHOLE = "count=2\n"
CUT = (
    "count=2\ngpu.0.mig_mode=1\n"
    "gpu.0.mig.0 = gi=1 ci=0 profile=3g.40gb mem_total=40GiB mem_used=9GiB uuid=MIG-three cslice=3 gslice=3\n"
    "gpu.0.mig.3 = gi=5 ci=0 profile=1g.10gb mem_total=10GiB mem_used=1GiB uuid=MIG-one cslice=1 gslice=1\n"
    "gpu.0.gpm.1=20\ngpu.0.gpm.1.gi1=77\ngpu.0.gpm.1.gi5=0\n"
)
PROGRAM = "gpu.0.proc.0 = pid=self type=C mem=2GiB gi=1 ci=0\n"


@pytest.fixture
def attribution():
    return Dropfiles()


@pytest.fixture
def daemon(node, attribution):
    probe = ActivityProbe(node.inventory)
    return Daemon(node, attribution, [probe])


def of(segment, uuid, metric):
    """The values of one device's rows."""
    (at,) = [at for at, device in enumerate(segment.devices) if device.uuid == uuid]
    values = zip(column(segment.samples, "device"), column(segment.samples, metric), strict=True)
    return [value for device, value in values if device == at]


def test_each_instance_is_a_device_with_its_share_of_its_gpu(daemon):
    daemon.start(CUT)
    daemon.to(range(1, 11), CUT)
    whole, three, one, other = daemon.shipped[0].devices
    assert (whole.in_mig_mode, whole.parent_uuid, other.in_mig_mode) == (True, None, False)
    assert (three.uuid, three.parent_uuid, three.slices, three.slices_of) == ("MIG-three", whole.uuid, 3, 7)
    assert (one.uuid, one.slices, one.slices_of, one.mem_total_mib) == ("MIG-one", 1, 7, 10 * GIB)
    assert (three.index, three.minor, three.pci_bus_id, three.power_limit_w) == (whole.index, None, None, None)
    assert three.model == "NVIDIA H100 80GB HBM3 MIG 3g.40gb"
    assert resolve([], ["MIG-one"], daemon.shipped[0].devices, ()) == (2,)


def test_its_utilization_is_its_engine_s_and_all_of_the_time_is_watched(daemon):
    daemon.start(CUT)
    daemon.to(range(1, 21), CUT)
    last = daemon.finish(30, CUT)
    assert set(of(last, "MIG-three", "util_pct")) == {770}
    assert set(of(last, "MIG-one", "util_pct")) == {0}
    assert of(last, "MIG-three", "util_watched_ms") == of(last, "MIG-three", "span_ms")
    assert set(of(last, "MIG-three", "mem_used_mib")) == {9 * GIB}
    assert set(of(last, daemon.shipped[0].devices[0].uuid, "util_pct")) == {None}  # the whole has none of its own
    told = {(null.device, null.metric): null.reason for null in last.nulls}
    assert told[0, "util_pct"] == told[1, "power_w"] == told[1, "energy_j"] == "not_supported"
    assert (1, "util_pct") not in told


def test_where_the_engine_cannot_be_read_its_utilization_is_unknown(daemon):
    a100 = f"{CUT}gpu.*.model=a100\n"
    daemon.start(a100)
    daemon.to(range(1, 21), a100)
    last = daemon.finish(30, a100)
    assert set(of(last, "MIG-three", "util_pct")) == {None}
    assert {null.reason for null in last.nulls if null.metric == "util_pct"} == {"not_supported"}


def test_a_call_that_fails_once_is_not_taken_for_one_that_is_not_offered(daemon):
    daemon.start(CUT)
    daemon.to(range(1, 11), CUT)
    daemon.to(range(11, 21), f"{CUT}gpu.*.return.nvmlGpmSampleGet=UNKNOWN\n")
    last = daemon.finish(30, CUT)
    assert of(last, "MIG-three", "util_pct") == [None, 770]
    assert [null.reason for null in last.nulls if (null.device, null.metric) == (1, "util_pct")] == ["failed"]


def test_a_job_holds_the_instance_and_its_program_is_listed_once(daemon, attribution):
    scenario = CUT + PROGRAM
    attribution.write(job("7", 0, 1))
    daemon.start(scenario)
    daemon.to(range(1, 11), scenario)
    (segment,) = daemon.shipped
    assert of(segment, "MIG-three", "holding") == [0]
    assert of(segment, "MIG-one", "holding") == [None]
    assert {seen.device for seen in segment.processes} == {1}
    assert of(segment, "MIG-three", "processes") == [1]
    assert of(segment, segment.devices[0].uuid, "processes") == [None]


def test_a_gpu_that_is_cut_anew_shows_its_new_instances_and_calls_none_lost(daemon):
    daemon.start(WHOLE)
    daemon.to(range(1, 11), WHOLE)
    daemon.to(range(11, 51), CUT)
    again = CUT.replace("MIG-one", "MIG-new")
    daemon.to(range(51, 91), again)
    last = daemon.finish(100, again)
    assert [device.uuid for device in last.devices][2:] == ["MIG-three", "MIG-one", "MIG-new"]
    assert set(of(last, "MIG-new", "util_pct")) == {0}
    assert of(last, "MIG-one", "util_pct") == []
    kinds = {event.kind for segment in daemon.shipped for event in segment.events}
    assert kinds == {"agent_started", "agent_stopped"}
    nulls = [null for segment in daemon.shipped for null in segment.nulls]
    assert not [null for null in nulls if null.reason == "gpu_lost"]
    # A row that only primes the counters anew must not make the instance one that cannot be measured.
    assert {null.reason for null in nulls if null.metric == "util_pct" and null.device in (2, 3, 4)} <= {"failed"}


def test_instances_are_lost_with_their_gpu_and_told_once(daemon):
    daemon.start(CUT)
    daemon.to(range(1, 11), CUT)
    daemon.to(range(11, 31), f"{CUT}gpu.0.lost=1\n")
    daemon.to(range(31, 601), CUT)
    last = daemon.finish(610, CUT)
    told = [
        (event.kind, event.device) for segment in daemon.shipped for event in segment.events if event.device is not None
    ]
    assert told == [("gpu_lost", 0), ("gpu_back", 0)]
    lost = {null.device for segment in daemon.shipped for null in segment.nulls if null.reason == "gpu_lost"}
    assert lost == {0, 1, 2}
    assert set(of(last, "MIG-three", "util_pct")) == {770}


def test_a_gpu_that_is_whole_costs_no_further_call(daemon, node):
    daemon.start(WHOLE)
    daemon.to(range(1, 11), WHOLE)
    assert not node.fake.calls("nvmlDeviceGetMigDeviceHandleByIndex")
    assert times(daemon.shipped[0]) == [10, 10]
