"""What is measured, in a process of its own: the daemon, the plain loop, or a peer. Prints what it took as JSON.

    python process.py KIND SECONDS WARM_S INTERVAL_S [SETTINGS]

Run by path, under the interpreter that has what KIND needs, so nothing but the standard library is imported here.
"""

import contextlib
import ctypes
import json
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

Tick = Callable[[], int]  # one reading of everything; returns how many values it brought


class Measured:
    """CPU time of the process, calls of the library, values and clocks, between ``begin`` and ``end``."""

    def __init__(self) -> None:
        self.values = 0
        library = ctypes.CDLL("libnvidia-ml.so.1")
        library.fakenvml_calls.restype = ctypes.c_ulong
        self._calls = library.fakenvml_calls

    def begin(self) -> None:
        self._start = self._now()

    def end(self) -> dict[str, float]:
        cpu_s, calls, wall_s, at_ms, values = (b - a for a, b in zip(self._start, self._now(), strict=True))
        return {
            "cpu_s": cpu_s,
            "calls": calls,
            "wall_s": wall_s,
            "values": values,
            "from_ms": self._start[3],
            "to_ms": self._start[3] + at_ms,
            "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }

    def _now(self) -> tuple[float, ...]:
        at_ms = time.time_ns() // 1_000_000
        return time.process_time(), int(self._calls(None)), time.monotonic(), at_ms, self.values


def daemon(settings: str) -> Callable[[threading.Event], None]:
    """The node daemon itself, which has its own rhythm."""
    import msgspec

    from collector.runner import run
    from collector.settings import CollectorSettings

    chosen = msgspec.json.decode(settings.encode(), type=CollectorSettings)
    return lambda stop: run(chosen, cluster="bench", version="bench", stop=stop)


def loop() -> Tick:
    """The same readings in pynvml, and nothing done with them."""
    import pynvml

    pynvml.nvmlInit()
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    plain = (
        pynvml.nvmlDeviceGetUtilizationRates,
        pynvml.nvmlDeviceGetPowerUsage,
        pynvml.nvmlDeviceGetTotalEnergyConsumption,
        pynvml.nvmlDeviceGetEncoderUtilization,
        pynvml.nvmlDeviceGetDecoderUtilization,
        pynvml.nvmlDeviceGetCurrentClocksEventReasons,
        pynvml.nvmlDeviceGetComputeRunningProcesses,
        lambda handle: pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2),
        lambda handle: pynvml.nvmlDeviceGetTemperatureV(handle, pynvml.NVML_TEMPERATURE_GPU),
        lambda handle: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
        lambda handle: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM),
        lambda handle: pynvml.nvmlDeviceGetSamples(handle, pynvml.NVML_GPU_UTILIZATION_SAMPLES, 0),
        lambda handle: pynvml.nvmlDeviceGetFieldValues(handle, [197, 198, 138, 139]),
    )
    return lambda: sum(1 for handle in handles for read in plain if read(handle) is not None)


def gpustat() -> Tick:
    """Gpustat's query as it prints it with --json."""
    import gpustat

    def tick() -> int:
        shown = gpustat.new_query().jsonify()
        return sum(1 for gpu in shown["gpus"] for value in gpu.values() if isinstance(value, int | float))

    return tick


def nvitop() -> Tick:
    """Nvitop's exporter: its devices, without its host metrics, and what a scrape of them reads."""
    from nvitop import Device
    from nvitop_exporter.exporter import PrometheusExporter
    from prometheus_client import generate_latest

    devices = Device.all()
    exporter = PrometheusExporter(devices, hostname="bench", interval=10.0)

    def tick() -> int:
        for device in devices:
            exporter.update_device(device)
        return sum(1 for line in generate_latest().splitlines() if b"uuid=" in line)

    return tick


def paced(tick: Tick, interval_s: float, measured: Measured) -> Callable[[threading.Event], None]:
    """Repeats a tick until it is stopped."""

    def work(stop: threading.Event) -> None:
        while not stop.wait(interval_s):
            measured.values += tick()

    return work


TICKS: dict[str, Callable[[], Tick]] = {"loop": loop, "gpustat": gpustat, "nvitop": nvitop}


@contextlib.contextmanager
def running(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs the work beside, and ends it."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def main(kind: str, seconds: str, warm: str, interval: str, settings: str = "") -> dict[str, Any]:
    """Runs one kind and returns what it took."""
    measured = Measured()
    work = daemon(settings) if kind == "daemon" else paced(TICKS[kind](), float(interval), measured)
    with running(work):
        time.sleep(float(warm))
        measured.begin()
        time.sleep(float(seconds))
        return measured.end()


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
