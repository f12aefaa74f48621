"""Runs each kind in a process of its own on the stand-in library, and puts the figures together."""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks import machine
from benchmarks.agent.library import us_a_call
from store.catalog import BY_NAME
from store.segment import decode
from tests.collector.hub import Hub
from tests.fakenvml import child_env, write_scenario

ROOT: Final = Path(__file__).resolve().parents[2]
PROCESS: Final = Path(__file__).with_name("process.py")
PEERS: Final = {"gpustat": "gpustat", "nvitop": "nvitop-exporter"}
BUSY: Final = "gpu.*.util_gpu=square(20,95,60)\ngpu.*.power_usage_mw=410000\ngpu.*.mem_used=40GiB\n"
PROGRAM: Final = "gpu.*.proc.0 = pid=1 type=C mem=38GiB sm=70\n"


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

    @property
    def us_a_value(self) -> float | None:
        return round(1e6 * self.cpu_s / self.values, 2) if self.values else None

    @property
    def told(self) -> dict[str, object]:
        return {"cpu_pct_core_10s": self.pct_core, "cpu_us_per_value": self.us_a_value, "rss_mib": self.rss_mib}


class Bench:
    """Runs processes on one scenario and takes the library's own time off what they took."""

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        self._folder = folder
        self._sizes = sizes
        scenario = folder / "scenario"
        write_scenario(scenario, f"count={sizes.gpus}\n{BUSY}{PROGRAM}")
        self._environment = {**os.environ, **child_env(scenario), "PYTHONPATH": str(ROOT)}
        self.us_a_call = us_a_call(folder, self._environment)

    def daemon(self, interval_s: int, seconds: int) -> Cost:
        """Measures the node daemon, which delivers to a hub that only acknowledges."""
        spool = str(self._folder / f"spool-{interval_s}")
        with _hub() as hub:
            settings = {"hub": hub.url, "spool_dir": spool, "interval_s": float(interval_s), "slurm": "no"}
            told = self._run(sys.executable, "daemon", seconds, interval_s, json.dumps(settings))
            segments = [decode(body) for body in hub.bodies]
        values = sum(_values(segment, told["from_ms"], told["to_ms"]) for segment in segments)
        return msgspec.structs.replace(self._cost(told), values=values)

    def paced(self, kind: str, interval_s: int, seconds: int, python: str = sys.executable) -> Cost:
        """Measures the plain loop, or a peer under an interpreter that has it."""
        return self._cost(self._run(python, kind, seconds, interval_s))

    def _run(self, python: str, kind: str, seconds: int, interval_s: int, *more: str) -> dict[str, Any]:
        command = [python, str(PROCESS), kind, str(seconds), str(self._sizes.warm_s), str(interval_s), *more]
        done = subprocess.run(command, env=self._environment, stdout=subprocess.PIPE, check=True)
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told

    def _cost(self, told: Mapping[str, Any]) -> Cost:
        own_s = told["cpu_s"] - told["calls"] * self.us_a_call / 1e6
        return Cost(
            cpu_s=max(0.0, own_s), wall_s=told["wall_s"], rss_mib=round(told["rss_mib"], 1), values=int(told["values"])
        )


def measure(sizes: Sizes, peers: str | None = None) -> dict[str, Any]:
    """Runs the daemon at both rates, the plain loop and the peers at the slower one; returns what is printed."""
    with tempfile.TemporaryDirectory(prefix="bench-agent-") as folder:
        bench = Bench(Path(folder), sizes)
        slow, fast = bench.daemon(10, sizes.seconds_10s), bench.daemon(1, sizes.seconds_1s)
        floor = bench.paced("loop", 10, sizes.seconds_10s)
        names = PEERS if peers else ()
        beside = {name: bench.paced(name, 10, sizes.seconds_10s, peers or "") for name in names}
    leanest = min((cost.us_a_value for cost in beside.values() if cost.us_a_value), default=None)
    return {
        "name": "agent",
        "machine": machine(),
        "sizes": msgspec.to_builtins(sizes) | {"us_a_call_in_c": bench.us_a_call},
        "figures": {
            "cpu_pct_core_10s": slow.pct_core,
            "cpu_pct_core_1s": fast.pct_core,
            "rss_mib": max(slow.rss_mib, fast.rss_mib),
            "values_per_tick": round(slow.values / max(1, round(slow.wall_s / 10)), 1),
            "cpu_us_per_value": slow.us_a_value,
            "leanest_peer_ratio": round(slow.us_a_value / leanest, 2) if slow.us_a_value and leanest else None,
            "floor_ratio": round(slow.cpu_s / floor.cpu_s, 2) if floor.cpu_s > 0 else None,
        },
        "peers": {"plain loop": floor.told} | {_version(peers or "", name): cost.told for name, cost in beside.items()},
    }


def _version(python: str, name: str) -> str:
    package = PEERS[name]
    ask = f"import importlib.metadata as m; print(m.version({package!r}))"
    return f"{package} {subprocess.run([python, '-c', ask], capture_output=True, text=True, check=True).stdout.strip()}"


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="some seconds a rate instead of five minutes")
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter that has gpustat and nvitop-exporter")
    for name in Sizes.__struct_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    chosen = vars(parser.parse_args(arguments))
    given = {name: chosen[name] for name in Sizes.__struct_fields__ if chosen[name] is not None}
    sizes = msgspec.structs.replace(QUICK if chosen["quick"] else Sizes(), **given)
    print(json.dumps(measure(sizes, chosen["peers"]), indent=1))
