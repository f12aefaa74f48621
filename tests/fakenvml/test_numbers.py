from collections.abc import Callable
from typing import Any

import pynvml
import pytest

from tests.fakenvml import Fake

Gpu = Callable[..., Any]

# nvmlDeviceGet..., the key behind it, a value to set
NUMBERS = [
    ("MinorNumber", "minor", 5),
    ("Brand", "brand", 2),
    ("PowerUsage", "power_usage_mw", 312345),
    ("EnforcedPowerLimit", "enforced_power_limit_mw", 500000),
    ("PowerManagementLimit", "power_limit_mw", 600000),
    ("PowerManagementDefaultLimit", "power_default_limit_mw", 700001),
    ("TotalEnergyConsumption", "energy_mj", 2**40 + 7),
    ("CurrentClocksEventReasons", "event_reasons", 0x44),
    ("CurrentClocksThrottleReasons", "event_reasons", 0x44),
    ("PerformanceState", "pstate", 2),
    ("CurrPcieLinkGeneration", "pcie_gen", 3),
    ("CurrPcieLinkWidth", "pcie_width", 8),
    ("MaxPcieLinkGeneration", "pcie_gen_max", 4),
    ("MaxPcieLinkWidth", "pcie_width_max", 8),
    ("PcieReplayCounter", "pcie_replay", 77),
    ("PersistenceMode", "persistence", 0),
    ("ComputeMode", "compute_mode", 3),
    ("AccountingMode", "accounting_mode", 1),
    ("AccountingBufferSize", "accounting_buffer", 99),
    ("NumGpuCores", "cores", 123),
    ("MemoryBusWidth", "bus_width", 64),
    ("FanSpeed", "fan_speed", 44),
    ("NumFans", "num_fans", 3),
    ("VbiosVersion", "vbios", "1.2"),
    ("BoardPartNumber", "board_part", "x-1"),
    ("InforomImageVersion", "inforom", "G1"),
    ("SupportedClocksEventReasons", "event_reasons_supported", 3),
    ("DisplayActive", "display_active", 1),
    ("DisplayMode", "display_mode", 1),
    ("VirtualizationMode", "virtualization_mode", 1),
    ("PowerState", "pstate", 3),
    ("PowerManagementMode", "power_mode", 0),
    ("SupportedEventTypes", "event_types", 8),
    ("BoardId", "board_id", 9),
    ("MultiGpuBoard", "multigpu_board", 1),
    ("NumaNodeId", "numa_node", 1),
    ("MaxMigDeviceCount", "mig_max", 4),
    ("RetiredPagesPendingStatus", "retired_pending", 1),
]
ERRORS = {
    "NOT_SUPPORTED": pynvml.NVMLError_NotSupported,
    "NO_PERMISSION": pynvml.NVMLError_NoPermission,
    "UNKNOWN": pynvml.NVMLError_Unknown,
}


@pytest.mark.parametrize(("function", "key", "value"), NUMBERS)
def test_a_call_returns_its_key(nvml: Fake, gpu: Gpu, function: str, key: str, value: object) -> None:
    call, handle = getattr(pynvml, f"nvmlDeviceGet{function}"), gpu(1)
    nvml.write(f"gpu.1.{key} = {value}")
    assert call(handle) == value
    for name, error in ERRORS.items():
        for scenario in (f"gpu.1.{key} = {name}", f"gpu.1.return.nvmlDeviceGet{function} = {name}"):
            nvml.write(scenario)
            with pytest.raises(error):
                call(handle)
    nvml.write("gpu.1.lost=1")
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        call(handle)


def test_odd_return_types(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.0.ecc_default=0\ngpu.0.gsp_version=1.1")
    assert pynvml.nvmlDeviceGetDefaultEccMode(gpu()) == [0]
    assert pynvml.nvmlDeviceGetGspFirmwareVersion(gpu()) == b"1.1"


def test_utilization(nvml: Fake, gpu: Gpu) -> None:
    nvml.write(
        "gpu.0.util_gpu=91\ngpu.0.util_mem=43\ngpu.0.util_enc=5\ngpu.0.util_dec=6\ngpu.0.util_jpg=7\ngpu.0.util_ofa=8"
    )
    rates = pynvml.nvmlDeviceGetUtilizationRates(gpu())
    assert (rates.gpu, rates.memory) == (91, 43)
    calls = (
        pynvml.nvmlDeviceGetEncoderUtilization,
        pynvml.nvmlDeviceGetDecoderUtilization,
        pynvml.nvmlDeviceGetJpgUtilization,
        pynvml.nvmlDeviceGetOfaUtilization,
    )
    assert [call(gpu())[0] for call in calls] == [5, 6, 7, 8]


def test_power_limits_ecc_mode_and_violations(nvml: Fake, gpu: Gpu) -> None:
    nvml.write(
        "gpu.0.power_min_mw=1000\ngpu.0.power_max_mw=2000\ngpu.0.ecc_mode=1\ngpu.0.ecc_pending=0\n"
        "gpu.0.violation_thermal_ns=55"
    )
    assert pynvml.nvmlDeviceGetPowerManagementLimitConstraints(gpu()) == [1000, 2000]
    assert pynvml.nvmlDeviceGetEccMode(gpu()) == [1, 0]
    assert pynvml.nvmlDeviceGetViolationStatus(gpu(), 1).violationTime == 55


def test_temperatures(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.0.temp_gpu=81\ngpu.0.temp_margin=-3")
    assert pynvml.nvmlDeviceGetTemperature(gpu(), pynvml.NVML_TEMPERATURE_GPU) == 81
    assert pynvml.nvmlDeviceGetTemperatureV(gpu(), pynvml.NVML_TEMPERATURE_GPU) == 81
    slowdown = pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
    assert pynvml.nvmlDeviceGetTemperatureThreshold(gpu(), slowdown) == 89
    assert pynvml.nvmlDeviceGetMarginTemperature(gpu()) == -3


def test_clocks_and_pcie(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.0.clock_sm=1755\ngpu.0.max_clock_mem=2620\ngpu.0.pcie_tx_kbps=1234\ngpu.0.pcie_rx_kbps=5678")
    assert pynvml.nvmlDeviceGetClockInfo(gpu(), pynvml.NVML_CLOCK_SM) == 1755
    assert pynvml.nvmlDeviceGetMaxClockInfo(gpu(), pynvml.NVML_CLOCK_MEM) == 2620
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetClockInfo(gpu(), 9)
    assert pynvml.nvmlDeviceGetPcieThroughput(gpu(), pynvml.NVML_PCIE_UTIL_TX_BYTES) == 1234
    assert pynvml.nvmlDeviceGetPcieThroughput(gpu(), pynvml.NVML_PCIE_UTIL_RX_BYTES) == 5678
