"""GPM on the stand-in library: means between two samples, in MIG mode too, and unknown with its reason."""

import pytest

from collector.probes.activity import ActivityProbe
from collector.readings import Reason, add_values

SHARES = ("gr_active_pct", "sm_active_pct", "sm_occupancy_pct", "tensor_active_pct", "dram_active_pct")
BUSY = """gpu.*.gpm.1=98.5
gpu.*.gpm.2=61.2
gpu.*.gpm.3=20
gpu.*.gpm.5=33
gpu.*.gpm.10=47
gpu.*.gpm_min_interval_ms=100
"""


class Reading:
    def __init__(self, node):
        self.node = node
        self.probe = ActivityProbe(node.inventory)

    def at(self, second, scenario=BUSY):
        """The values of the first GPU at this second, after the probe of rows has enumerated it."""
        moment = self.node.set(second, scenario)
        self.node.gpu.read(moment)
        return self.probe.read(moment).values.get(0)


@pytest.fixture
def reading(node):
    return Reading(node)


def shares(values):
    return [values[metric] for metric in SHARES]


def test_the_mean_between_two_samples(reading):
    assert reading.at(0) == {}  # primes
    assert shares(reading.at(10)) == [985, 612, 200, 330, 470]
    assert shares(reading.at(20, BUSY.replace("98.5", "12.34"))) == [123, 612, 200, 330, 470]


def test_two_calls_a_device_and_row(reading, node):
    reading.at(0)
    reading.at(10)
    node.fake.reset()
    reading.at(20)
    called = {name: count for name, count in node.fake.called().items() if "Gpm" in name}
    assert called == {"nvmlGpmSampleGet": 1, "nvmlGpmMetricsGet": 1}


def test_samples_that_lie_too_close_say_nothing_and_the_next_covers_all(reading):
    reading.at(0)
    assert reading.at(0.05) == {}
    assert shares(reading.at(10))[0] == 985


def test_a_gpu_without_it_is_asked_once(reading, node):
    a100 = "gpu.*.model=a100\n"
    assert reading.at(0, a100) == dict.fromkeys(SHARES, Reason.NOT_SUPPORTED)
    node.fake.reset()
    assert reading.at(10, a100) == dict.fromkeys(SHARES, Reason.NOT_SUPPORTED)
    assert not [name for name in node.fake.called() if "Gpm" in name]


def test_a_gpu_in_mig_mode_has_it(reading):
    mig = BUSY + "gpu.*.mig_mode=1\ngpu.*.mig.0 = gi=1 ci=0 profile=3g.40gb mem_total=40GiB\n"
    reading.at(0, mig)
    assert shares(reading.at(10, mig)) == [985, 612, 200, 330, 470]


@pytest.mark.parametrize(
    ("told", "stored"),
    [("100.4", 1000), ("175", Reason.OUT_OF_RANGE), ("-1", Reason.OUT_OF_RANGE), ("UNKNOWN", Reason.FAILED)],
)
def test_values_that_cannot_be_are_not_averaged(reading, told, stored):
    scenario = BUSY.replace("61.2", told)
    reading.at(0, scenario)
    assert shares(reading.at(10, scenario)) == [985, stored, 200, 330, 470]


def test_a_metric_that_this_driver_does_not_have(reading):
    scenario = BUSY.replace("gpm.3=20", "gpm.3=INVALID_ARGUMENT")
    reading.at(0, scenario)
    assert reading.at(10, scenario)["sm_occupancy_pct"] is Reason.NOT_SUPPORTED


@pytest.mark.parametrize(
    ("call", "reason"), [("nvmlGpmSampleGet", Reason.FAILED), ("nvmlGpmQueryDeviceSupport", Reason.NO_PERMISSION)]
)
def test_a_call_that_fails_now_is_tried_again(reading, call, reason):
    refused = "UNKNOWN" if reason is Reason.FAILED else "NO_PERMISSION"
    assert shares(reading.at(0, f"{BUSY}gpu.*.return.{call}={refused}\n")) == [reason] * 5
    assert reading.at(10) == {}
    assert shares(reading.at(20))[0] == 985


def test_a_gpu_that_was_lost_and_came_back_begins_anew(reading):
    reading.at(0)
    assert reading.at(10, BUSY + "gpu.0.lost=1\n") is None
    assert reading.at(600) == {}
    assert shares(reading.at(610))[0] == 985


def test_what_goes_over_pcie_where_the_counters_wrap(reading, node):
    fast = BUSY + "gpu.*.gpm.20=100\ngpu.*.gpm.21=25000\n"
    reading.at(0, fast)
    values = reading.at(10, fast)
    assert (values["pcie_tx_mib"], values["pcie_rx_mib"]) == (1000, 250_000)
    row = {"pcie_rx_mib": Reason.WRAPS, "pcie_tx_mib": 7}
    add_values(row, values)
    assert (row["pcie_rx_mib"], row["pcie_tx_mib"], row["sm_active_pct"]) == (250_000, 7, 612)


def test_a_reason_never_replaces_what_is_told_already():
    row = {"pcie_rx_mib": Reason.WRAPS, "util_pct": 5}
    add_values(row, {"pcie_rx_mib": Reason.NOT_SUPPORTED, "util_pct": Reason.FAILED, "sm_active_pct": Reason.FAILED})
    assert row == {"pcie_rx_mib": Reason.WRAPS, "util_pct": 5, "sm_active_pct": Reason.FAILED}


def test_a_driver_that_was_closed_takes_its_buffers_back_without_a_word(reading, node):
    reading.at(0)
    reading.at(10)
    closed = BUSY + "return.nvmlGpmSampleFree=UNINITIALIZED\n"
    assert reading.at(20, closed + "gpu.0.lost=1\n") is None
    assert reading.at(600, closed) == {}
