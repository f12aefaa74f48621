"""Failures, latency, and values that change with time."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pynvml
import pytest

from tests.fakenvml import Fake

Gpu = Callable[..., Any]


def test_a_gpu_is_lost_and_comes_back(nvml: Fake, gpu: Gpu) -> None:
    handles = [gpu(index) for index in range(8)]
    nvml.write("gpu.5.lost=1\ngpu.5.return.nvmlDeviceGetUUID=SUCCESS")
    assert pynvml.nvmlDeviceGetCount() == 8
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetPowerUsage(handles[5])
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        gpu(5)
    assert pynvml.nvmlDeviceGetUUID(handles[5]).startswith("GPU-")
    assert pynvml.nvmlDeviceGetPowerUsage(handles[4]) == 70000
    nvml.write("gpu.5.return.* = RESET_REQUIRED")
    with pytest.raises(pynvml.NVMLError_ResetRequired):
        pynvml.nvmlDeviceGetTemperature(handles[5], 0)
    nvml.write("")
    assert pynvml.nvmlDeviceGetPowerUsage(handles[5]) == 70000


def test_every_third_call_fails_and_calls_are_counted(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("return.nvmlDeviceGetPowerUsage = UNKNOWN/3")
    handle = gpu()
    nvml.reset()
    answered = [answers(handle) for _ in range(9)]
    assert answered == [True, True, False] * 3
    assert nvml.calls("nvmlDeviceGetPowerUsage") == 9
    assert nvml.calls() == 9
    assert nvml.called() == {"nvmlDeviceGetPowerUsage": 9}


def test_latency_of_one_gpu_and_one_function(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("latency_us.nvmlDeviceGetPcieThroughput = 40000\ngpu.1.latency_us = 600000")
    handles = gpu(0), pynvml.nvmlDeviceGetHandleByIndex(1)
    assert seconds(pynvml.nvmlDeviceGetPowerUsage, handles[1]) >= 0.6
    assert seconds(pynvml.nvmlDeviceGetPcieThroughput, handles[0], 0) >= 0.04
    assert seconds(pynvml.nvmlDeviceGetPowerUsage, handles[0]) < 0.3


def test_a_hang_ends_when_the_scenario_drops_it(nvml: Fake, gpu: Gpu) -> None:
    handle = gpu()
    nvml.write("gpu.0.latency_us.nvmlDeviceGetPowerUsage = 600000000")
    timer = threading.Timer(0.2, nvml.write, [""])
    timer.start()
    assert 0.15 <= seconds(pynvml.nvmlDeviceGetPowerUsage, handle) < 60
    timer.join()


@pytest.mark.parametrize("serialize", [False, True])
def test_calls_overlap_unless_the_driver_has_one_lock(nvml: Fake, gpu: Gpu, serialize: bool) -> None:
    handle = gpu()
    nvml.write(f"gpu.*.latency_us = 1000000\nlatency_serialize={int(serialize)}")
    threads = [threading.Thread(target=pynvml.nvmlDeviceGetPowerUsage, args=(handle,)) for _ in range(4)]
    begin_s = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One after the other they take 4 s; side by side 1 s, which leaves 2.9 s for a busy machine.
    assert (time.monotonic() - begin_s >= 3.9) is serialize


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("square(100,900,10)", {0: 100, 4: 100, 5: 900, 9: 900}),
        ("rate(1000,50)", {0: 1000, 1: 1050, 10: 1500}),
        ("sine(500,100,10)", {2.5: 600}),
        ("saw(0,100,10)", {0: 0, 9: 90}),
    ],
)
def test_values_over_time(nvml: Fake, gpu: Gpu, value: str, expected: dict[float, int]) -> None:
    assert {at_s: power_at(nvml, at_s, value) for at_s in expected} == expected


def test_noise_is_the_same_on_every_run(nvml: Fake, gpu: Gpu) -> None:
    runs = [[power_at(nvml, tenth / 10, "noise(500,100)") for tenth in range(50)] for _ in range(2)]
    assert runs[0] == runs[1]
    assert all(400 <= value <= 600 for value in runs[0])
    assert len(set(runs[0])) > 20


def test_energy_is_the_integral_of_power(nvml: Fake, gpu: Gpu) -> None:
    counts_mj = []
    for clock_s in (2_000_000, 2_000_010):
        nvml.write(f"clock_s={clock_s}\ngpu.6.power_usage_mw=300000")
        counts_mj.append(pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu(6)))
    assert counts_mj[1] - counts_mj[0] == 3_000_000


def test_the_last_line_and_the_number_win(nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.*.power_usage_mw=1\ngpu.2-4.power_usage_mw=2\ngpu.3.power_usage_mw=3\n# a comment\n\n")
    assert [pynvml.nvmlDeviceGetPowerUsage(gpu(index)) for index in range(6)] == [1, 1, 2, 3, 2, 1]


def test_threads_read_whole_scenarios_while_it_is_replaced(nvml: Fake, gpu: Gpu) -> None:
    stop, torn = threading.Event(), []
    nvml.write("gpu.*.power_usage_mw=1000")

    def read(handle: Any) -> None:
        while not stop.is_set():
            if (value := pynvml.nvmlDeviceGetPowerUsage(handle)) % 1000:
                torn.append(value)

    threads = [threading.Thread(target=read, args=(gpu(index),)) for index in range(8)]
    for thread in threads:
        thread.start()
    for step in range(1, 300):
        nvml.write(f"gpu.*.power_usage_mw={step * 1000}")
    stop.set()
    for thread in threads:
        thread.join()
    assert torn == []
    assert pynvml.nvmlDeviceGetPowerUsage(gpu()) == 299_000


def answers(handle: Any) -> bool:
    try:
        pynvml.nvmlDeviceGetPowerUsage(handle)
    except pynvml.NVMLError_Unknown:
        return False
    return True


def power_at(nvml: Fake, clock_s: float, value: str) -> int:
    nvml.write(f"clock_s={clock_s}\nt0=0\ngpu.0.power_usage_mw={value}")
    return int(pynvml.nvmlDeviceGetPowerUsage(pynvml.nvmlDeviceGetHandleByIndex(0)))


def seconds(call: Callable[..., Any], *arguments: Any) -> float:
    begin_s = time.monotonic()
    call(*arguments)
    return time.monotonic() - begin_s
