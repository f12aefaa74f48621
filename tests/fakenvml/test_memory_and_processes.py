import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pynvml
import pytest

from tests.fakenvml import Fake

Gpu = Callable[..., Any]
GIB, MIB = 1 << 30, 1 << 20
NO_INSTANCE = 0xFFFFFFFF


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process
        process.kill()


def test_memory_versions_count_the_reserved_part_differently(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.0.mem_total=80GiB\ngpu.0.mem_reserved=1GiB\ngpu.0.mem_used=20GiB")
    first = pynvml.nvmlDeviceGetMemoryInfo(gpu())
    assert (first.total, first.used, first.free) == (80 * GIB, 21 * GIB, 59 * GIB)
    second = pynvml.nvmlDeviceGetMemoryInfo(gpu(), version=pynvml.nvmlMemory_v2)
    assert (second.total, second.reserved, second.used, second.free) == (80 * GIB, GIB, 20 * GIB, 59 * GIB)


def test_bar1_memory(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.0.bar1_total=64GiB\ngpu.0.bar1_used=3MiB")
    memory = pynvml.nvmlDeviceGetBAR1MemoryInfo(gpu())
    assert (memory.bar1Total, memory.bar1Used, memory.bar1Free) == (64 * GIB, 3 * MIB, 64 * GIB - 3 * MIB)


def test_processes(nvml: Fake, gpu: Gpu, child: subprocess.Popen[bytes]) -> None:
    nvml.write(
        "hide_dead_pids=1\nclock_s=2000\n"
        f"gpu.0.proc.0 = pid={child.pid} type=C mem=10GiB sm=70 memutil=30 enc=1 dec=2\n"
        "gpu.0.proc.1 = pid=self type=C mem=N/A\n"
        "gpu.0.proc.2 = pid=self type=G mem=5MiB\n"
        "gpu.0.proc.3 = pid=self type=M mem=7MiB"
    )
    compute = pynvml.nvmlDeviceGetComputeRunningProcesses(gpu())
    assert [(process.pid, process.usedGpuMemory, process.gpuInstanceId) for process in compute] == [
        (child.pid, 10 * GIB, NO_INSTANCE),
        (os.getpid(), None, NO_INSTANCE),
    ]
    assert [process.usedGpuMemory for process in pynvml.nvmlDeviceGetGraphicsRunningProcesses(gpu())] == [5 * MIB]
    assert [process.usedGpuMemory for process in pynvml.nvmlDeviceGetMPSComputeRunningProcesses(gpu())] == [7 * MIB]
    assert len(pynvml.nvmlDeviceGetComputeRunningProcesses_v2(gpu())) == 2
    assert pynvml.nvmlDeviceGetMemoryInfo(gpu(), version=pynvml.nvmlMemory_v2).used == 10 * GIB + 12 * MIB
    child.kill()
    child.wait()
    assert [process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu())] == [os.getpid()]


def test_utilization_of_processes(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("clock_s=2000\ngpu.0.proc.0 = pid=17 sm=70 memutil=30 enc=1 dec=2")
    samples = pynvml.nvmlDeviceGetProcessUtilization(gpu(), 0)
    assert [(s.pid, s.smUtil, s.memUtil, s.encUtil, s.decUtil) for s in samples] == [(17, 70, 30, 1, 2)]
    assert samples[0].timeStamp == 2_000_000_000
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetProcessUtilization(gpu(), 2_000_000_000)
    assert pynvml.nvmlDeviceGetProcessesUtilizationInfo(gpu(), 0)[0].smUtil == 70


def test_many_processes(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("\n".join(f"gpu.0.proc.{number} = pid={number + 10} mem=1MiB" for number in range(300)))
    assert len(pynvml.nvmlDeviceGetComputeRunningProcesses(gpu())) == 300
    nvml.write("gpu.0.return.nvmlDeviceGetComputeRunningProcesses = NO_PERMISSION")  # stands for its _v3 as well
    with pytest.raises(pynvml.NVMLError_NoPermission):
        pynvml.nvmlDeviceGetComputeRunningProcesses(gpu())


def test_accounting(nvml: Fake, gpu: Gpu) -> None:
    entry = "pid=42 gpu_util=55 mem_util=20 max_mem=1GiB time_ms=900 start_us=17 running=0"
    nvml.write(f"gpu.0.accounting_mode=1\ngpu.0.acct.0 = {entry}")
    assert pynvml.nvmlDeviceGetAccountingPids(gpu()) == [42]
    found = pynvml.nvmlDeviceGetAccountingStats(gpu(), 42)
    assert (found.gpuUtilization, found.memoryUtilization, found.maxMemoryUsage) == (55, 20, GIB)
    assert (found.time, found.startTime, found.isRunning) == (900, 17, 0)
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetAccountingStats(gpu(), 43)
