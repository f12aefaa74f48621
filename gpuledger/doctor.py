"""What works on this machine and what to do about the rest: one check a function, each with its fix."""

import http.client
import shutil
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec

from collector import runner
from collector.once import Once
from collector.settings import CollectorSettings

State = Literal["good", "note", "bad"]
HUB_TIMEOUT_S: Final = 3.0
MAX_SKEW_S: Final = 2.0
MIN_FREE_BYTES: Final = 1 << 30
SLURM_COMMANDS: Final = ("sacct", "squeue", "scontrol")


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the doctor. ``fix`` is the next step where ``state`` is bad, else empty."""

    name: str
    state: State
    found: str
    fix: str = ""


def examine(collector: CollectorSettings, cluster: str, data: Path) -> list[Check]:
    """Runs every check; a check that fails in a way nobody foresaw is itself a line."""
    once = runner.run_once(collector, cluster=cluster)
    parts: tuple[tuple[str, Callable[[], Iterator[Check]]], ...] = (
        ("driver", lambda: _driver(once)),
        ("readings", lambda: _readings(once)),
        ("slurm", lambda: _slurm(once)),
        ("spool", lambda: _directory("spool", Path(collector.spool_dir), "collector.spool_dir")),
        ("data", lambda: _directory("data", data, "hub.data, or --data DIR")),
        ("hub", lambda: _hub(collector)),
    )
    checks: list[Check] = []
    for name, part in parts:
        try:
            checks.extend(part())
        except OSError as error:
            checks.append(Check(name=name, state="bad", found=str(error), fix="see the system's log"))
    return checks


def _driver(once: Once) -> Iterator[Check]:
    for problem in once.problems:
        first, _, fix = problem.partition(": ")
        yield Check(name="driver", state="bad", found=first, fix=fix or "see `gpuledger collect --once`")
    if once.devices:
        version = once.devices[0].device.driver_version or "unknown version"
        yield Check(name="driver", state="good", found=f"driver {version}, {len(once.devices)} GPUs")
    for item in once.devices:
        device = item.device
        share = "" if device.slices == device.slices_of else f", a slice of {device.slices}/{device.slices_of}"
        yield Check(name="device", state="good", found=f"GPU {device.index}: {device.model} {device.uuid}{share}")


def _readings(once: Once) -> Iterator[Check]:
    for item in once.devices:
        missing = [f"{reading.label} ({reading.reason})" for reading in item.readings if reading.value is None]
        if missing:
            yield Check(name="readings", state="note", found=f"GPU {item.device.index} lacks {', '.join(missing)}")
        elif item.readings:
            yield Check(name="readings", state="good", found=f"GPU {item.device.index} answers every reading")


def _slurm(once: Once) -> Iterator[Check]:
    if not once.slurm:
        yield Check(name="slurm", state="note", found="no Slurm here: programs are counted as sessions, not jobs")
        return
    for command in SLURM_COMMANDS:
        path = shutil.which(command)
        found = path or f"{command} is not on PATH"
        fix = "" if path else "install Slurm's client commands on the one host that reads accounting"
        yield Check(name="slurm", state="good" if path else "note", found=found, fix=fix)


def _directory(name: str, path: Path, key: str) -> Iterator[Check]:
    there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    probe = there / f".gpuledger-{time.time_ns()}"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        yield Check(name=name, state="bad", found=f"{path} cannot be written ({error.strerror})", fix=f"change {key}")
        return
    free = shutil.disk_usage(there).free
    if free < MIN_FREE_BYTES:
        yield Check(
            name=name, state="bad", found=f"{path} has {free >> 20} MiB left", fix=f"free space, or change {key}"
        )
    else:
        yield Check(name=name, state="good", found=f"{path} can be written, {free >> 30} GiB free")


def _hub(settings: CollectorSettings) -> Iterator[Check]:
    address = urlsplit(settings.hub)
    host = address.hostname or ""
    connection: http.client.HTTPConnection
    if address.scheme == "https":
        context = ssl.create_default_context(cafile=settings.ca_file or None)
        connection = http.client.HTTPSConnection(host, address.port, timeout=HUB_TIMEOUT_S, context=context)
    else:
        connection = http.client.HTTPConnection(host, address.port, timeout=HUB_TIMEOUT_S)
    try:
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        answer.read()
    except (OSError, socket.gaierror, http.client.HTTPException) as error:
        fix = "start it with `gpuledger serve`, or set collector.hub"
        yield Check(name="hub", state="bad", found=f"{settings.hub} does not answer ({error})", fix=fix)
        return
    finally:
        connection.close()
    yield Check(name="hub", state="good", found=f"{settings.hub} answers {answer.status}")
    if date := answer.getheader("date"):
        skew_s = time.time() - parsedate_to_datetime(date).timestamp()
        good = abs(skew_s) <= MAX_SKEW_S
        fix = "" if good else "synchronise the clocks (chrony, ntpd)"
        yield Check(name="clock", state="good" if good else "bad", found=f"{skew_s:+.0f} s against the hub", fix=fix)
