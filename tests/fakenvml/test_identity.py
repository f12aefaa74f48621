from collections.abc import Callable
from typing import Any

import pynvml
import pytest

from tests.fakenvml import Fake

Gpu = Callable[..., Any]

# model: name, architecture, compute capability, GPM supported, MIG supported
MODELS = {
    "h100": ("NVIDIA H100 80GB HBM3", 9, (9, 0), 1, True),
    "h200": ("NVIDIA H200", 9, (9, 0), 1, True),
    "b200": ("NVIDIA B200", 10, (10, 0), 1, True),
    "a100": ("NVIDIA A100-SXM4-80GB", 7, (8, 0), 0, True),
    "v100": ("Tesla V100-SXM2-32GB", 5, (7, 0), 0, False),
    "l40s": ("NVIDIA L40S", 8, (8, 9), 0, False),
    "t4": ("Tesla T4", 6, (7, 5), 0, False),
    "rtx4090": ("NVIDIA GeForce RTX 4090", 8, (8, 9), 0, False),
}


def test_handles(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.2.uuid=GPU-abc\ngpu.2.pci_bus_id=00000001:C1:00.0\ngpu.2.serial=S2")
    found = [
        pynvml.nvmlDeviceGetHandleByUUID("GPU-abc"),
        pynvml.nvmlDeviceGetHandleByPciBusId("00000001:C1:00.0"),
        pynvml.nvmlDeviceGetHandleByPciBusId("0001:c1:00.0"),
        pynvml.nvmlDeviceGetHandleBySerial("S2"),
    ]
    assert [pynvml.nvmlDeviceGetIndex(handle) for handle in found] == [2, 2, 2, 2]
    assert (pynvml.nvmlDeviceGetUUID(gpu(2)), pynvml.nvmlDeviceGetSerial(gpu(2))) == ("GPU-abc", "S2")
    pci = pynvml.nvmlDeviceGetPciInfo(gpu(2))
    assert (pci.busId, pci.busIdLegacy, pci.domain, pci.bus) == ("00000001:C1:00.0", "0001:C1:00.0", 1, 0xC1)


def test_handles_of_nothing(nvml: Fake) -> None:
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByUUID("GPU-none")
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByPciBusId("00000001:C2:00.0")
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetName(None)


def test_gpus_differ(nvml: Fake, gpu: Gpu) -> None:
    assert len({pynvml.nvmlDeviceGetUUID(gpu(index)) for index in range(8)}) == 8
    assert len({pynvml.nvmlDeviceGetPciInfo(gpu(index)).busId for index in range(8)}) == 8


@pytest.mark.parametrize("model", MODELS)
def test_models(nvml: Fake, gpu: Gpu, model: str) -> None:
    nvml.write(f"gpu.*.model={model}")
    name, architecture, capability, gpm, mig = MODELS[model]
    assert pynvml.nvmlDeviceGetName(gpu()) == name
    assert pynvml.nvmlDeviceGetArchitecture(gpu()) == architecture
    assert tuple(pynvml.nvmlDeviceGetCudaComputeCapability(gpu())) == capability
    assert pynvml.nvmlGpmQueryDeviceSupport(gpu()).isSupportedDevice == gpm
    if mig:
        assert pynvml.nvmlDeviceGetMigMode(gpu()) == [0, 0]
        assert pynvml.nvmlDeviceGetMaxMigDeviceCount(gpu()) == 7
    else:
        with pytest.raises(pynvml.NVMLError_NotSupported):
            pynvml.nvmlDeviceGetMigMode(gpu())


@pytest.mark.parametrize("model", ["v100", "t4"])
def test_older_models_retire_pages_and_remap_no_rows(nvml: Fake, gpu: Gpu, model: str) -> None:
    nvml.write(f"gpu.*.model={model}")
    assert pynvml.nvmlDeviceGetRetiredPages(gpu(), 0) == []
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetRemappedRows(gpu())


def test_h100_remaps_rows_and_retires_no_pages(nvml: Fake, gpu: Gpu) -> None:
    assert pynvml.nvmlDeviceGetRemappedRows(gpu()) == (0, 0, 0, 0)
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetRetiredPages(gpu(), 0)


def test_consumer_model(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.*.model=rtx4090")
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetSerial(gpu())
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetTotalEccErrors(gpu(), 0, 0)
    assert (pynvml.nvmlDeviceGetFanSpeed(gpu()), pynvml.nvmlDeviceGetNumFans(gpu())) == (30, 2)
