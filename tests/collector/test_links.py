import pytest

from collector.links import nvlink_mib_s, pcie_mib_s
from collector.nvml import close_driver, open_driver
from tests.fakenvml import Fake


@pytest.mark.parametrize(
    ("generation", "lanes", "gb_s"), [(3, 16, 15.8), (4, 16, 31.5), (5, 16, 63.0), (4, 8, 15.8), (1, 4, 1.0)]
)
def test_pcie(generation, lanes, gb_s):
    assert pcie_mib_s(generation, lanes) * (1 << 20) / 1e9 == pytest.approx(gb_s, abs=0.05)


@pytest.mark.parametrize(("generation", "lanes"), [(0, 16), (9, 16), (5, 0), (4_294_967_295, 16), (5, 4_294_967_295)])
def test_a_link_that_is_not_known(generation, lanes):
    assert pcie_mib_s(generation, lanes) is None


def test_nvlink():
    assert nvlink_mib_s(18, 26_562) * (1 << 20) / 1e9 == pytest.approx(478, abs=1)
    assert (nvlink_mib_s(0, 26_562), nvlink_mib_s(18, 0)) == (None, None)


@pytest.mark.parametrize(
    ("scenario", "pcie_gb_s", "nvlink_gb_s"),
    [
        ("", 63, 478),
        ("gpu.*.model=a100", 31.5, 309),
        ("gpu.*.model=l40s", 31.5, None),
        ("gpu.*.model=b200\ngpu.*.field.90=NOT_SUPPORTED", 63, 900),  # only link by link since NVLink 5
        ("gpu.*.pcie_gen_max=NOT_SUPPORTED\ngpu.*.field.90=NOT_SUPPORTED\ngpu.*.field.164=NOT_SUPPORTED", None, None),
        ("gpu.*.return.nvmlDeviceGetFieldValues=UNKNOWN", 63, None),
    ],
)
def test_what_a_device_says_of_its_links(fake_nvml: Fake, scenario, pcie_gb_s, nvlink_gb_s):
    fake_nvml.write(f"count=1\n{scenario}\n")
    (gpu,) = open_driver().gpus
    close_driver()
    rates = (gpu.device.pcie_mib_s, gpu.device.nvlink_mib_s)
    shown = [None if rate is None else rate * (1 << 20) / 1e9 for rate in rates]
    assert shown == [None if rate is None else pytest.approx(rate, rel=0.01) for rate in (pcie_gb_s, nvlink_gb_s)]
