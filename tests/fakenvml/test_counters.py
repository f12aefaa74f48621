"""Samples, ECC counters, field values and NVLink."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pynvml
import pytest

from tests.fakenvml import Fake

Gpu = Callable[..., Any]
MEMBERS = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
ALL_LINKS = 0xFFFFFFFF


def fields(handle: Any, *ids: Any) -> list[tuple[int, float | None]]:
    values = pynvml.nvmlDeviceGetFieldValues(handle, list(ids))
    return [(v.nvmlReturn, None if v.nvmlReturn else getattr(v.value, MEMBERS[v.valueType])) for v in values]


def test_samples(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("clock_s=5000\ngpu.0.power_usage_mw=250000\ngpu.0.util_gpu=saw(0,100,10)")
    kind, samples = pynvml.nvmlDeviceGetSamples(gpu(), pynvml.NVML_TOTAL_POWER_SAMPLES, 0)
    assert kind == pynvml.NVML_VALUE_TYPE_UNSIGNED_INT
    assert (len(samples), samples[0].sampleValue.uiVal, samples[-1].timeStamp) == (120, 250000, 5_000_000_000)
    assert {b.timeStamp - a.timeStamp for a, b in pairwise(samples)} == {100_000}
    _, samples = pynvml.nvmlDeviceGetSamples(gpu(), pynvml.NVML_GPU_UTILIZATION_SAMPLES, 4_999_500_000)
    assert [sample.sampleValue.uiVal for sample in samples] == [96, 97, 98, 99, 0]
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetSamples(gpu(), pynvml.NVML_GPU_UTILIZATION_SAMPLES, 5_000_000_000)


def test_ecc_errors(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.0.ecc_sbe_vol=1\ngpu.0.ecc_dbe_vol=2\ngpu.0.ecc_sbe_agg=3\ngpu.0.ecc_dbe_agg=4")
    kinds = [(kind, counter) for counter in (0, 1) for kind in (0, 1)]
    assert [pynvml.nvmlDeviceGetTotalEccErrors(gpu(), *kind) for kind in kinds] == [1, 2, 3, 4]
    memory = pynvml.NVML_MEMORY_LOCATION_DEVICE_MEMORY
    assert pynvml.nvmlDeviceGetMemoryErrorCounter(gpu(), 1, 1, memory) == 4
    assert pynvml.nvmlDeviceGetDetailedEccErrors(gpu(), 1, 0).deviceMemory == 2
    assert fields(gpu(), 4, 6) == [(0, 2), (0, 4)]
    nvml.write("gpu.0.ecc_mode=0")
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetTotalEccErrors(gpu(), 0, 0)


def test_remapped_rows(nvml: Fake, gpu: Gpu) -> None:
    nvml.write(
        "gpu.0.remapped_corr=5\ngpu.0.remapped_unc=6\ngpu.0.remapped_pending=1\ngpu.0.remapped_failure=1\n"
        "gpu.0.remap_hist=630,8,2,0,0"
    )
    assert pynvml.nvmlDeviceGetRemappedRows(gpu()) == (5, 6, 1, 1)
    histogram = pynvml.nvmlDeviceGetRowRemapperHistogram(gpu())
    assert (histogram.max, histogram.high) == (630, 8)
    assert fields(gpu(), 142, 143, 144, 145) == [(0, 5), (0, 6), (0, 1), (0, 1)]


def test_retired_pages(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.0.retired_sbe=0x1000,0x2000\ngpu.0.retired_dbe=\ngpu.0.retired_pending=1")
    assert pynvml.nvmlDeviceGetRetiredPages(gpu(), 0) == [0x1000, 0x2000]
    assert pynvml.nvmlDeviceGetRetiredPages(gpu(), 1) == []
    assert [page["address"] for page in pynvml.nvmlDeviceGetRetiredPages_v2(gpu(), 0)] == [0x1000, 0x2000]


def test_fields_read_keys(nvml: Fake, gpu: Gpu) -> None:
    nvml.write(
        "clock_s=7\ngpu.0.power_usage_mw=123000\ngpu.0.power_instant_mw=130000\ngpu.0.temp_mem=60\n"
        "gpu.0.field.31=NOT_SUPPORTED\ngpu.0.field.200=9\ngpu.0.field.196=-5:int\ngpu.0.pcie_tx_bytes=77\n"
        "gpu.0.field.222.3=1.5:double"
    )
    assert fields(gpu(), 185, 186, 82, 31) == [(0, 123000), (0, 130000), (0, 60), (3, None)]
    assert fields(gpu(), 200, 196, 91, 197) == [(0, 9), (0, -5), (0, 18), (0, 77)]
    assert fields(gpu(), (222, 3), (222, 4), 9999, 250) == [(0, 1.5), (3, None), (2, None), (3, None)]
    value = pynvml.nvmlDeviceGetFieldValues(gpu(), [185])[0]
    assert (value.timestamp, value.valueType) == (7_000_000, pynvml.NVML_VALUE_TYPE_UNSIGNED_INT)
    pynvml.nvmlDeviceClearFieldValues(gpu(), [38])
    nvml.write("gpu.0.return.nvmlDeviceGetFieldValues=UNKNOWN")
    with pytest.raises(pynvml.NVMLError_Unknown):
        pynvml.nvmlDeviceGetFieldValues(gpu(), [185])


def test_fields_of_links(nvml: Fake, gpu: Gpu) -> None:
    nvml.write(
        "gpu.0.nvlink_tx_kib=1000\ngpu.0.nvlink.3.tx_kib=4000\ngpu.0.nvlink.5.crc_flit=2\ngpu.0.nvlink.2.state=0"
    )
    assert fields(gpu(), (138, 3), (138, 0), (138, ALL_LINKS)) == [(0, 4000), (0, 1000), (0, 21000)]
    assert fields(gpu(), 37, 38, 36, 90) == [(0, 2), (0, 2), (0, 0), (0, 26562)]
    assert fields(gpu(), (165, 2), (165, 1), (163, 5)) == [(0, 0), (0, 1), (0, 2)]
    nvml.write("gpu.*.model=b200\ngpu.0.nvlink.1.tx_kib=3")
    assert fields(gpu(), (202, 1), (204, 1)) == [(0, 3072), (0, 0)]


def test_nvlink(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.0.nvlink_count=4\ngpu.0.nvlink.1.state=0\ngpu.0.nvlink.1.replay=9\ngpu.1.nvlink_count=0")
    assert [pynvml.nvmlDeviceGetNvLinkState(gpu(), link) for link in range(4)] == [1, 0, 1, 1]
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetNvLinkState(gpu(), 4)
    assert pynvml.nvmlDeviceGetNvLinkErrorCounter(gpu(), 1, pynvml.NVML_NVLINK_ERROR_DL_REPLAY) == 9
    assert pynvml.nvmlDeviceGetNvLinkVersion(gpu(), 0) == 7
    assert pynvml.nvmlDeviceGetNvLinkCapability(gpu(), 0, 0) == 1
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetNvLinkState(gpu(1), 0)
