import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pynvml
import pytest

from tests.fakenvml import Fake

Gpu = Callable[..., Any]
KINDS = pynvml.nvmlEventTypeXidCriticalError | pynvml.nvmlEventTypeDoubleBitEccError


@pytest.fixture
def watched(nvml: Fake, gpu: Gpu) -> Iterator[Any]:
    """Yield an event set on GPU 3, made when event 1 had already been."""
    nvml.write("event.1 = gpu=3 type=xid data=13")
    events = pynvml.nvmlEventSetCreate()
    pynvml.nvmlDeviceRegisterEvents(gpu(3), KINDS, events)
    yield events
    pynvml.nvmlEventSetFree(events)


def test_an_event_before_the_set_is_not_delivered(watched: Any) -> None:
    begin_s = time.monotonic()
    with pytest.raises(pynvml.NVMLError_Timeout):
        pynvml.nvmlEventSetWait_v2(watched, 60)
    assert time.monotonic() - begin_s >= 0.055


def test_waiting_ends_when_the_scenario_brings_an_event(watched: Any, nvml: Fake) -> None:
    lines = ["gpu=3 type=xid data=13", "gpu=3 type=xid data=79", "gpu=4 data=31", "gpu=3 type=dbe", "gpu=3 type=sbe"]
    scenario = "\n".join(f"event.{number} = {line}" for number, line in enumerate(lines, 1))
    timer = threading.Timer(0.1, nvml.write, [scenario])
    timer.start()
    event = pynvml.nvmlEventSetWait_v2(watched, 10_000)
    timer.join()
    assert pynvml.nvmlDeviceGetIndex(event.device) == 3
    assert (event.eventType, event.eventData, event.gpuInstanceId) == (8, 79, 0xFFFFFFFF)
    assert pynvml.nvmlEventSetWait(watched, 100).eventType == 2
    with pytest.raises(pynvml.NVMLError_Timeout):
        pynvml.nvmlEventSetWait_v2(watched, 10)


def test_waiting_on_a_lost_gpu(watched: Any, nvml: Fake) -> None:
    nvml.write("gpu.3.lost=1")
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlEventSetWait_v2(watched, 10_000)


def test_an_event_type_that_the_gpu_does_not_know(watched: Any, nvml: Fake, gpu: Gpu) -> None:
    nvml.write("gpu.0.event_types=2")
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceRegisterEvents(gpu(), pynvml.nvmlEventTypeXidCriticalError, watched)
