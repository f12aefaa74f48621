"""PCIe and NVLink on the stand-in library: amounts of a row, one call a device, unknown with its reason."""

import pytest

from collector.readings import Reason

MIB = 1 << 20
METRICS = ("pcie_rx_mib", "pcie_tx_mib", "nvlink_rx_mib", "nvlink_tx_mib")
PCIE_64 = f"gpu.*.field.198={9 << 32}:ull\ngpu.*.field.197={9 << 32}:ull\n"


def told(row):
    return {metric: row.values[metric] for metric in METRICS if metric in row.values}


def test_what_went_over_the_links_during_the_row(node):
    node.read(0, PCIE_64)
    row = node.row(
        10,
        f"gpu.*.field.198={(9 << 32) + 5000 * MIB}:ull\ngpu.*.field.197={(9 << 32) + 70 * MIB}:ull\n"
        "gpu.*.nvlink.3.tx_kib=2048000\ngpu.*.nvlink.4.tx_kib=1024000\ngpu.*.nvlink_rx_kib=102400\n",
    )
    assert told(row) == {
        "pcie_rx_mib": 5000,
        "pcie_tx_mib": 70,
        "nvlink_rx_mib": 18 * 100,
        "nvlink_tx_mib": 3000,
    }


def test_one_call_a_device_and_row_and_never_the_one_that_measures_for_20_ms(node):
    node.read(0, f"count=2\n{PCIE_64}")
    node.fake.reset()
    node.read(10, f"count=2\n{PCIE_64}")
    assert node.fake.calls("nvmlDeviceGetFieldValues") == 2
    assert node.fake.calls("nvmlDeviceGetPcieThroughput") == 0


def test_32_bits_of_a_fast_link_are_unknown_not_a_small_number(node):
    node.read(0)
    row = node.row(10, "gpu.*.pcie_rx_bytes=50000000\n")
    assert told(row)["pcie_rx_mib"] is Reason.WRAPS


def test_a_wide_type_with_32_bits_in_it_is_unknown_too(node):
    node.read(0, "gpu.*.field.198=4294960000:ull\n")
    assert told(node.row(10, "gpu.*.field.198=5000000:ull\n"))["pcie_rx_mib"] is Reason.WRAPS


def test_nvlink_5_is_the_sum_of_its_links(node):
    b200 = "gpu.*.model=b200\ngpu.*.field.138=NOT_SUPPORTED\ngpu.*.field.139=NOT_SUPPORTED\n"
    node.read(0, b200)
    row = node.row(10, b200 + "gpu.*.nvlink_tx_kib=1024\ngpu.*.nvlink.7.tx_kib=10240\n")
    assert told(row)["nvlink_tx_mib"] == 17 + 10
    assert told(row)["nvlink_rx_mib"] == 0


def test_what_a_device_does_not_offer_is_asked_for_once(node):
    scenario = "gpu.*.model=l40s\ngpu.*.field.197=NOT_SUPPORTED\ngpu.*.field.198=NOT_SUPPORTED\n"
    node.read(0, scenario)
    node.fake.reset()
    assert told(node.row(10, scenario)) == dict.fromkeys(METRICS, Reason.NOT_SUPPORTED)
    assert node.fake.calls("nvmlDeviceGetFieldValues") == 0


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        ("gpu.*.return.nvmlDeviceGetFieldValues=UNKNOWN\n", Reason.FAILED),
        ("gpu.*.field.198=UNKNOWN\n", Reason.FAILED),
        ("gpu.*.field.198=NO_PERMISSION\n", Reason.NO_PERMISSION),
    ],
)
def test_an_answer_that_is_no_value_has_its_reason_and_the_next_one_counts(node, scenario, reason):
    node.read(0, PCIE_64)
    assert told(node.row(10, scenario))["pcie_rx_mib"] is reason
    after = PCIE_64.replace(str(9 << 32), str((9 << 32) + 40 * MIB))
    assert told(node.row(20, after))["pcie_rx_mib"] == 40


def test_a_driver_that_fails_at_first_is_asked_again(node):
    node.read(0, "gpu.*.return.nvmlDeviceGetFieldValues=UNKNOWN\n")
    assert told(node.row(10, PCIE_64)) == {}  # the first reading primes
    assert told(node.row(20, PCIE_64)) == dict.fromkeys(METRICS, 0)


def test_a_counter_that_was_reset_is_unknown_not_negative(node):
    node.read(0, "gpu.*.nvlink_tx_kib=1024000\n")
    assert told(node.row(10, "gpu.*.nvlink_tx_kib=1024\n"))["nvlink_tx_mib"] is Reason.OUT_OF_RANGE
    assert told(node.row(20, "gpu.*.nvlink_tx_kib=2048\n"))["nvlink_tx_mib"] == 18


def test_a_gpu_that_falls_off_the_bus_in_the_middle_of_the_fields(node):
    node.read(0, PCIE_64)
    report = node.read(10, PCIE_64 + "gpu.*.field.138=GPU_IS_LOST\n")
    assert report.rows == ()
