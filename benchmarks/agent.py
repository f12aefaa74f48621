"""What the node daemon costs: 8 stand-in GPUs, default configuration, a row every 10 s and every 1 s.

CPU is of the whole process, from a moment after its start to a moment before its end. The time that the driver's
library takes by itself (calls x the cost of one in a C loop) is subtracted, for the plain loop as well: that asks the
same readings in pynvml and does nothing with them, which is the floor. A value is one metric of one device that reached
the hub. Other tools are not measured beside it yet.
"""

import argparse
import contextlib
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks import machine
from store.catalog import BY_NAME
from store.segment import decode
from tests.collector.hub import Hub
from tests.fakenvml import child_env, write_scenario
from tests.fakenvml.building import build

BUSY: Final = "gpu.*.util_gpu=square(20,95,60)\ngpu.*.power_usage_mw=410000\ngpu.*.mem_used=40GiB\n"
PROGRAM: Final = "gpu.*.proc.0 = pid=1 type=C mem=38GiB sm=70\n"
C_CALLS: Final = 100_000
C_LOOP: Final = """
#include <nvml.h>
#include <stdio.h>
#include <time.h>
int main(void) {
    nvmlDevice_t d; unsigned w; struct timespec a, b;
    if (nvmlInit_v2() || nvmlDeviceGetHandleByIndex_v2(0, &d)) return 1;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    for (int i = 0; i < CALLS; i++) nvmlDeviceGetPowerUsage(d, &w);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    printf("%.4f\\n", ((b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3) / CALLS);
    return 0;
}
"""


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """GPUs of the node, and seconds that each rate is measured for, those of the start apart."""

    gpus: int = 8
    seconds_10s: int = 300
    seconds_1s: int = 300
    warm_s: int = 4


QUICK: Final = Sizes(seconds_10s=40, seconds_1s=12)


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What one process took: CPU of the library apart, wall time, memory, and the rows' values that came of it."""

    cpu_s: float
    wall_s: float
    rss_mib: float
    values: int = 0

    @property
    def pct_core(self) -> float:
        return round(100 * self.cpu_s / self.wall_s, 4)


def measure(sizes: Sizes) -> dict[str, Any]:
    """Runs the daemon at both rates and the plain loop at the slower one, and returns what is printed."""
    with tempfile.TemporaryDirectory(prefix="bench-agent-") as folder:
        scenario = Path(folder) / "scenario"
        write_scenario(scenario, f"count={sizes.gpus}\n{BUSY}{PROGRAM}")
        environment = {**os.environ, **child_env(scenario)}
        us_a_call = _us_a_call(Path(folder), environment)
        slow, fast = (
            _daemon(Path(folder), environment, interval_s, (seconds, sizes.warm_s), us_a_call)
            for interval_s, seconds in ((10.0, sizes.seconds_10s), (1.0, sizes.seconds_1s))
        )
        times = [str(sizes.seconds_10s), str(sizes.warm_s)]
        floor = _cost(_child(["loop", *times, "10", str(sizes.gpus)], environment), us_a_call)
    ticks = max(1, round(slow.wall_s / 10))
    each = 1e6 * slow.cpu_s / max(1, slow.values)
    return {
        "name": "agent",
        "machine": machine(),
        "sizes": msgspec.to_builtins(sizes) | {"us_a_call_in_c": us_a_call},
        "figures": {
            "cpu_pct_core_10s": slow.pct_core,
            "cpu_pct_core_1s": fast.pct_core,
            "rss_mib": round(max(slow.rss_mib, fast.rss_mib), 1),
            "values_per_tick": round(slow.values / ticks, 1),
            "cpu_us_per_value": round(each, 2),
            "leanest_peer_ratio": None,
            "floor_ratio": round(slow.cpu_s / floor.cpu_s, 2) if floor.cpu_s > 0 else None,
        },
        "peers": {"plain loop": {"cpu_pct_core_10s": floor.pct_core, "rss_mib": round(floor.rss_mib, 1)}},
    }


def _daemon(
    folder: Path, environment: dict[str, str], interval_s: float, times: tuple[int, int], us_a_call: float
) -> Cost:
    with _hub() as hub:
        settings = {
            "hub": hub.url,
            "spool_dir": str(folder / f"spool-{interval_s:g}"),
            "interval_s": interval_s,
            "slurm": "no",
        }
        told = _child(["daemon", *map(str, times), json.dumps(settings)], environment)
        segments = [decode(body) for body in hub.bodies]
    values = sum(_values(segment, told["from_ms"], told["to_ms"]) for segment in segments)
    return msgspec.structs.replace(_cost(told, us_a_call), values=values)


@contextlib.contextmanager
def _hub() -> Iterator[Any]:
    hub = Hub()
    try:
        yield hub
    finally:
        hub.stop()


def _values(segment: Any, from_ms: int, to_ms: int) -> int:
    """How many values the rows that end in (from_ms, to_ms] have."""
    table = segment.samples
    if not table.rows:
        return 0
    ends = memoryview(table.columns["ts_ms"].data).cast("q")
    inside = [row for row, at_ms in enumerate(ends) if from_ms < at_ms <= to_ms]
    bitmaps = [
        int.from_bytes(column.valid, "little") if column.valid else -1
        for name, column in table.columns.items()
        if name in BY_NAME
    ]
    return sum(bitmap >> row & 1 for bitmap in bitmaps for row in inside)


def _cost(told: dict[str, Any], us_a_call: float) -> Cost:
    library_s = told["calls"] * us_a_call / 1e6
    return Cost(cpu_s=max(0.0, told["cpu_s"] - library_s), wall_s=told["wall_s"], rss_mib=told["rss_mib"])


def _child(arguments: Sequence[str], environment: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.agent", "--child", *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _us_a_call(folder: Path, environment: dict[str, str]) -> float:
    """Return what one call costs without Python, in microseconds."""
    library = build()
    source, program = folder / "loop.c", folder / "loop"
    source.write_text(C_LOOP, encoding="utf-8")
    header = next(path for path in sys.path if (Path(path) / "nvidia").is_dir())
    includes = sorted({str(found.parent) for found in Path(header, "nvidia").rglob("nvml.h")})
    options = [f"-I{each}" for each in includes] + [f"-DCALLS={C_CALLS}", str(source), str(library), "-o", str(program)]
    subprocess.run(["gcc", "-O2", *options], check=True)
    return float(subprocess.run([program], env=environment, capture_output=True, check=True).stdout)


# ---- in the process that is measured


def _run_child(kind: str, seconds: str, warm: str, *arguments: str) -> None:
    stop = threading.Event()
    work = _daemon_work(*arguments, stop) if kind == "daemon" else _loop_work(*map(int, arguments), stop)
    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(float(warm))
    began = _now()
    time.sleep(float(seconds))
    ended = _now()
    stop.set()
    thread.join()
    print(
        json.dumps(
            {
                "cpu_s": ended[0] - began[0],
                "calls": ended[1] - began[1],
                "wall_s": ended[2] - began[2],
                "from_ms": began[3],
                "to_ms": ended[3],
                "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def _now() -> tuple[float, int, float, int]:
    """CPU time of the process, calls of the library, and both clocks."""
    library = ctypes.CDLL("libnvidia-ml.so.1")
    library.fakenvml_calls.restype = ctypes.c_ulong
    return time.process_time(), int(library.fakenvml_calls(None)), time.monotonic(), time.time_ns() // 1_000_000


def _daemon_work(settings: str, stop: threading.Event) -> Callable[[], None]:
    from collector.runner import run
    from collector.settings import CollectorSettings

    chosen = msgspec.json.decode(settings.encode(), type=CollectorSettings)
    return lambda: run(chosen, cluster="bench", version="bench", stop=stop)


def _loop_work(interval_s: int, gpus: int, stop: threading.Event) -> Callable[[], None]:
    import pynvml

    def loop() -> None:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(gpus)]
        while not stop.wait(interval_s):
            for handle in handles:
                for read in (
                    pynvml.nvmlDeviceGetUtilizationRates,
                    pynvml.nvmlDeviceGetPowerUsage,
                    pynvml.nvmlDeviceGetTotalEnergyConsumption,
                    pynvml.nvmlDeviceGetEncoderUtilization,
                    pynvml.nvmlDeviceGetDecoderUtilization,
                    pynvml.nvmlDeviceGetCurrentClocksEventReasons,
                    pynvml.nvmlDeviceGetComputeRunningProcesses,
                ):
                    read(handle)
                pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
                pynvml.nvmlDeviceGetTemperatureV(handle, pynvml.NVML_TEMPERATURE_GPU)
                pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
                pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM)
                pynvml.nvmlDeviceGetSamples(handle, pynvml.NVML_GPU_UTILIZATION_SAMPLES, 0)
                pynvml.nvmlDeviceGetFieldValues(handle, [197, 198, 138, 139])

    return loop


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="some seconds a rate instead of five minutes")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    for name in Sizes.__struct_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    chosen = vars(parser.parse_args(arguments))
    if chosen["child"]:
        _run_child(*chosen["child"])
        return
    given = {name: chosen[name] for name in Sizes.__struct_fields__ if chosen[name] is not None}
    print(json.dumps(measure(msgspec.structs.replace(QUICK if chosen["quick"] else Sizes(), **given)), indent=1))


if __name__ == "__main__":
    main()
