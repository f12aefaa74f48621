import os
from collections.abc import Callable
from typing import Any

import pynvml
import pytest

from tests.fakenvml import Fake

Gpu = Callable[..., Any]
GIB = 1 << 30
TWO_INSTANCES = (
    "clock_s=100\ngpu.0.mig_mode=1\n"
    "gpu.0.mig.0 = gi=1 ci=0 profile=3g.40gb mem_total=40GiB sms=60 gslice=3 cslice=3 uuid=MIG-aa\n"
    "gpu.0.mig.2 = gi=5 ci=0 profile=1g.10gb mem_total=10GiB\n"
    "gpu.0.proc.0 = pid=self mem=1GiB sm=50 gi=1 ci=0\n"
    "gpu.0.proc.1 = pid=1 mem=2GiB sm=50 gi=5 ci=0"
)


@pytest.fixture
def mig(nvml: Fake, gpu: Gpu) -> Any:
    nvml.write(TWO_INSTANCES)
    return pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu(), 0)


def test_mig_handles(mig: Any, gpu: Gpu) -> None:
    assert pynvml.nvmlDeviceGetMigMode(gpu()) == [1, 1]
    assert pynvml.nvmlDeviceGetMaxMigDeviceCount(gpu()) == 7
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu(), 1)
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu(), 7)
    assert [pynvml.nvmlDeviceIsMigDeviceHandle(handle).value for handle in (mig, gpu())] == [1, 0]
    assert pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)) == 0
    assert pynvml.nvmlDeviceGetGpuInstanceId(pynvml.nvmlDeviceGetHandleByUUID("MIG-aa")) == 1


def test_mig_identity(mig: Any) -> None:
    assert (pynvml.nvmlDeviceGetGpuInstanceId(mig), pynvml.nvmlDeviceGetComputeInstanceId(mig)) == (1, 0)
    assert pynvml.nvmlDeviceGetUUID(mig) == "MIG-aa"
    assert pynvml.nvmlDeviceGetName(mig) == "NVIDIA H100 80GB HBM3 MIG 3g.40gb"
    attributes = pynvml.nvmlDeviceGetAttributes(mig)
    assert (attributes.multiprocessorCount, attributes.gpuInstanceSliceCount) == (60, 3)
    assert attributes.memorySizeMB == 40960


def test_mig_memory_and_processes(mig: Any, gpu: Gpu) -> None:
    memory = pynvml.nvmlDeviceGetMemoryInfo(mig)
    assert (memory.total, memory.used) == (40 * GIB, GIB)
    mine = pynvml.nvmlDeviceGetComputeRunningProcesses(mig)
    assert [(process.pid, process.gpuInstanceId) for process in mine] == [(os.getpid(), 1)]
    assert [process.gpuInstanceId for process in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu())] == [1, 5]


def test_what_mig_mode_takes_away(mig: Any, gpu: Gpu, nvml: Fake) -> None:
    for call in (
        pynvml.nvmlDeviceGetUtilizationRates,
        pynvml.nvmlDeviceGetEncoderUtilization,
        pynvml.nvmlDeviceGetDecoderUtilization,
        lambda handle: pynvml.nvmlDeviceGetProcessUtilization(handle, 0),
    ):
        with pytest.raises(pynvml.NVMLError_NotSupported):
            call(gpu())
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetPowerUsage(mig)
    assert pynvml.nvmlDeviceGetPowerUsage(gpu()) == 70000
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetGpuInstanceId(gpu())
    nvml.write("gpu.0.mig_mode=0")
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetUUID(mig)


def gpm(handle: Any, *ids: int, take: Any = pynvml.nvmlGpmSampleGet, between: Any = None) -> list[tuple[int, float]]:
    samples = [pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc()]
    try:
        take(handle, samples[0])
        if between:
            between()
        take(handle, samples[1])
        request = pynvml.c_nvmlGpmMetricsGet_t()
        request.version, request.numMetrics = pynvml.NVML_GPM_METRICS_GET_VERSION, len(ids)
        request.sample1, request.sample2 = samples
        for position, metric in enumerate(ids):
            request.metrics[position].metricId = metric
        pynvml.nvmlGpmMetricsGet(request)
        assert request.metrics[0].metricInfo.shortName in {"GRACT", b"GRACT"}
        return [(request.metrics[position].nvmlReturn, request.metrics[position].value) for position in range(len(ids))]
    finally:
        for sample in samples:
            pynvml.nvmlGpmSampleFree(sample)


def test_gpm(nvml: Fake, gpu: Gpu) -> None:
    base = (
        "gpu.0.util_gpu=80\ngpu.0.util_mem=40\ngpu.0.gpm.5=37.5\ngpu.0.gpm.11=UNKNOWN\ngpu.0.gpm_min_interval_ms=100\n"
    )
    nvml.write(base + "clock_s=10")
    found = gpm(gpu(), 1, 2, 5, 10, between=lambda: nvml.write(base + "clock_s=11"))
    assert found == [(0, 80), (0, pytest.approx(73.6)), (0, 37.5), (0, 40)]
    errors = gpm(gpu(), 1, 11, 300, between=lambda: nvml.write(base + "clock_s=12"))
    assert [code for code, _ in errors] == [0, pynvml.NVML_ERROR_UNKNOWN, pynvml.NVML_ERROR_NOT_SUPPORTED]
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        gpm(gpu(), 1)  # both samples at one instant


def test_gpm_of_mig_devices(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("clock_s=1\ngpu.0.mig_mode=1\ngpu.0.mig.0 = gi=3\ngpu.0.gpm.1=50\ngpu.0.gpm.1.gi3=90")
    assert gpm(gpu(), 1, take=lambda handle, sample: pynvml.nvmlGpmMigSampleGet(handle, 3, sample)) == [(0, 90)]
    assert gpm(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu(), 0), 1) == [(0, 90)]
    assert gpm(gpu(), 1) == [(0, 50)]


def test_gpm_needs_hopper(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.*.model=a100")
    with pytest.raises(pynvml.NVMLError_NotSupported):
        gpm(gpu(), 1)
    assert pynvml.nvmlGpmQueryIfStreamingEnabled(gpu()) == 0
