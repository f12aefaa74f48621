"""What works on this machine and what to do about the rest: one check a function, each with its fix."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from collector import runner
from collector.once import Once, gpus_said
from collector.settings import CollectorSettings
from gpuledger.doctor_hub import Check, hub_checks
from gpuledger.doctor_slurm import slurm_checks

STORE: Final = "gpuledger.duckdb"
MIN_FREE_BYTES: Final = 1 << 30


def examine(collector: CollectorSettings, cluster: str, data: Path) -> list[Check]:
    """Runs every check; a check that fails in a way nobody foresaw is itself a line."""
    once = runner.run_once(collector, cluster=cluster)
    spool = Path(collector.spool_dir)
    # A hub reads no GPU and delivers nothing. A node has a spool as soon as its daemon has run once.
    hub_only = not once.devices and (data / STORE).exists() and not spool.exists()
    parts: tuple[tuple[str, Callable[[], Iterator[Check]]], ...] = (
        ("driver", lambda: _driver(once, hub_only=hub_only)),
        ("readings", lambda: _readings(once)),
        ("slurm", lambda: slurm_checks(collector, once)),
        ("spool", lambda: iter(()) if hub_only else _directory("spool", spool, "collector.spool_dir")),
        ("data", lambda: _directory("data", data, "hub.data, or --data DIR") if _is_for_hubs() else iter(())),
        ("hub", lambda: hub_checks(collector, data)),
    )
    checks: list[Check] = []
    for name, part in parts:
        try:
            checks.extend(part())
        except OSError as error:
            checks.append(Check(name=name, state="bad", found=str(error), fix="see the system's log"))
    return checks


def _driver(once: Once, *, hub_only: bool) -> Iterator[Check]:
    if hub_only:
        found = "this machine holds a hub's data and reads no GPU, which a hub does not need"
        yield Check(name="driver", state="note", found=found, fix="run doctor on each node as well")
        return
    for problem in once.problems:
        first, _, fix = problem.partition(": ")
        yield Check(name="driver", state="bad", found=first, fix=fix or "see `gpuledger collect --once`")
    if once.devices:
        version = once.devices[0].device.driver_version or "unknown version"
        yield Check(name="driver", state="good", found=f"driver {version}, {gpus_said(len(once.devices))}")
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


def _is_for_hubs() -> bool:
    """Whether the hub's packages are installed; without them nothing here looks at a data directory."""
    try:
        import store.database  # noqa: F401 - whether it can be is the question
    except ModuleNotFoundError:
        return False
    return True


def _directory(name: str, path: Path, key: str) -> Iterator[Check]:
    there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if there != path and there.is_dir():
        # Whether it can be made says nothing of the user that the service runs as.
        fix = f"make it and give it to the user of the service, or change {key}"
        yield Check(name=name, state="note", found=f"{path} does not exist yet", fix=fix)
        return
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
