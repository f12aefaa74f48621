"""Kills a hub under load and measures how soon its store answers, and how soon the hub does.

The store is the hardest to open: a write-ahead log just below the size at which it is folded, a manifest of a year,
gigabytes of acknowledged segments in the inbox.
"""

import argparse
import contextlib
import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec

from benchmarks import machine
from benchmarks.restart.store import NEVER_MIB, TOKEN_FILE, Sizes, fill, one_more
from store.checkpoint import log_file

QUICK: Final = Sizes(nodes=8, days=10, log_mib=4, inbox_mib=16, kills=1)
LOAD_S: Final = 1.5
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_CONFIG: Final = f"[store]\ncheckpoint_mib = {NEVER_MIB}\nraw_days = 400\nminute_days = 400\n"
_SERVE: Final = (sys.executable, "-c", "from gpuledger.cli import main; main()", "serve")
_REOPEN: Final = """
import os, signal, sys, time
from pathlib import Path
from store.database import Database
began = time.perf_counter()
database = Database.open(Path(sys.argv[1]))
with database.cursor() as cursor:
    cursor.scalar("SELECT count(*) FROM hot")
print(1000 * (time.perf_counter() - began), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


class Start(msgspec.Struct, frozen=True):
    """One start of a hub: from the beginning of its process to the first answer of /healthz."""

    healthz_ms: float
    cpu_ms: float


def measure(sizes: Sizes) -> dict[str, Any]:
    """Return the benchmark's JSON object."""
    with tempfile.TemporaryDirectory(prefix="gpuledger-bench-") as folder:
        data, config = Path(folder) / "data", Path(folder) / "config.toml"
        config.write_text(_CONFIG, encoding="utf-8")
        empty = _start_and_kill(Path(folder) / "empty", config, "")
        _fill_elsewhere(data, sizes)
        token = (data / TOKEN_FILE).read_text(encoding="utf-8")
        log_bytes, files = log_file(data).stat().st_size, len(list((data / "raw").glob("day=*/*")))
        inbox_bytes = sum(path.stat().st_size for path in (data / "inbox").iterdir())
        reopened_ms, starts = [], []
        for _ in range(sizes.kills):
            reopened_ms.append(_reopen_ms(data))
            starts.append(_start_and_kill(data, config, token))
    healthz_ms = [start.healthz_ms for start in starts]
    return {
        "name": "restart",
        "machine": machine() | {"duckdb": duckdb.__version__},
        "sizes": msgspec.structs.asdict(sizes),
        "figures": {
            "kills": sizes.kills,
            "reopen_ms": round(statistics.median(reopened_ms)),
            "reopen_max_ms": round(max(reopened_ms)),
            "healthz_ms": round(statistics.median(healthz_ms)),
            "healthz_max_ms": round(max(healthz_ms)),
            "healthz_cpu_ms": round(statistics.median(start.cpu_ms for start in starts)),
            "empty_healthz_ms": round(empty.healthz_ms),
            "empty_healthz_cpu_ms": round(empty.cpu_ms),
            "log_mib": round(log_bytes / (1 << 20), 1),
            "inbox_mib": inbox_bytes >> 20,
            "sealed_files": files,
        },
        "peers": {},
    }


def _fill_elsewhere(data: Path, sizes: Sizes) -> None:
    command = [sys.executable, "-m", "benchmarks.restart", "--fill", str(data), *_as_options(sizes)]
    done = subprocess.run(command, check=False)
    if done.returncode != -signal.SIGKILL:
        raise SystemExit(f"The store could not be filled: its process ended with {done.returncode}.")


def _reopen_ms(data: Path) -> float:
    done = subprocess.run([sys.executable, "-c", _REOPEN, str(data)], check=False, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def _start_and_kill(data: Path, config: Path, token: str) -> Start:
    """Start a hub, wait for its first answer, deliver for a while, and kill it meanwhile."""
    began = time.perf_counter()
    command = [*_SERVE, "--config", str(config), "--data", str(data), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        port = _port(process)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        start = Start(1000 * (time.perf_counter() - began), _cpu_ms(process.pid))
        connection.close()
        if token:
            end = threading.Timer(LOAD_S, process.kill)
            end.start()
            _deliver(port, token)
            end.join()
        return start
    finally:
        process.kill()
        process.communicate()


def _port(process: "subprocess.Popen[str]") -> int:
    assert process.stdout is not None
    line = next((line for line in process.stdout if "listens on" in line), "")
    found = re.search(r":(\d+),", line)
    if found is None:
        raise SystemExit("The hub did not start.")
    return int(found[1])


def _deliver(port: int, token: str) -> None:
    """Deliver one after the other until the hub is gone."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
        for number in range(1 << 30):
            connection.request("POST", "/api/v1/segments", one_more(number), {"Authorization": f"Bearer {token}"})
            connection.getresponse().read()


def _cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def _as_options(sizes: Sizes) -> list[str]:
    fields = msgspec.structs.asdict(sizes).items()
    return [part for name, value in fields for part in (f"--{name.replace('_', '-')}", str(value))]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, or fill a store for a measurement."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.restart", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON (there is no other form)")
    parser.add_argument("--quick", action="store_true", help="a small store, one kill")
    parser.add_argument("--fill", type=Path, help=argparse.SUPPRESS)
    for name in Sizes.__struct_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    chosen = vars(parser.parse_args(arguments))
    given = {name: chosen[name] for name in Sizes.__struct_fields__ if chosen[name] is not None}
    sizes = msgspec.structs.replace(QUICK if chosen["quick"] else Sizes(), **given)
    if chosen["fill"] is not None:
        fill(chosen["fill"], sizes)
    print(json.dumps(measure(sizes), indent=1))


if __name__ == "__main__":
    main()
