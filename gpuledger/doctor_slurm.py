"""What the doctor says of Slurm on this host: what its places mean, what tells whose a GPU is, its commands."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from collector.host import slurm_sign
from collector.once import Once
from collector.settings import CollectorSettings
from gpuledger.doctor_hub import Check

SLURM_COMMANDS: Final = ("sacct", "squeue", "scontrol")
_OF_ANOTHER_USER: Final = Path("/proc/1/environ")


def slurm_checks(collector: CollectorSettings, once: Once) -> Iterator[Check]:
    """Yields what there is to say of Slurm on this host."""
    chosen = collector.slurm
    sign = slurm_sign() if chosen == "auto" else f'collector.slurm = "{chosen}"'
    if not once.slurm:
        why = sign or "there is no slurm.conf that can be read, and no slurmd runs"
        found = f"no Slurm here, programs are counted as sessions, not jobs: {why}"
        yield Check(name="slurm", state="note", found=found)
        return
    yield Check(name="slurm", state="good", found=f"a Slurm node: {sign}")
    if once.devices:
        yield from _gpu_list(once)
        yield from _sources(collector)
    for command in SLURM_COMMANDS:
        path = shutil.which(command)
        found = path or f"{command} is not on PATH"
        fix = "" if path else "install Slurm's client commands on the one host that reads accounting"
        yield Check(name="slurm", state="good" if path else "note", found=found, fix=fix)


def _gpu_list(once: Once) -> Iterator[Check]:
    """Which GPU is meant by a place in Slurm's list: the daemon knows it for sure, or where all orders are one."""
    devices = [item.device for item in once.devices]
    if once.gpu_list_problem:
        found = f"Slurm's own list of GPUs is not certain: {once.gpu_list_problem}"
        fix = (
            "see that `slurmd -G` works here, and set collector.slurmd and collector.slurm_conf where it lies elsewhere"
        )
        yield Check(name="slurm", state="note", found=found, fix=fix)
    whole = [device for device in devices if not device.in_mig_mode]
    unplaced = [device for device in whole if device.position is None]
    if whole and len(unplaced) < len(whole):
        source = once.gpu_list or "the one order that driver, device files and PCI bus agree on"
        order = ", ".join(
            f"{device.position} is GPU {device.index}"
            for device in sorted(whole, key=lambda device: device.position or 0)
            if device.position is not None
        )
        yield Check(name="slurm", state="good", found=f"places in Slurm's list, by {source}: {order}")
    for device in unplaced:
        found = f"GPU {device.index} has no known place in Slurm's list: whose it is will be unknown"
        yield Check(name="slurm", state="bad", found=found, fix="compare gres.conf, `slurmd -G` and `nvidia-smi -L`")


def _sources(collector: CollectorSettings) -> Iterator[Check]:
    """What tells which job holds a GPU here, the best first."""
    folder = Path(collector.dropfile_dir)
    if folder.is_dir():
        yield Check(name="slurm", state="good", found=f"drop-files of Prolog and Epilog in {folder}")
    else:
        found = f"no Prolog of ours has run here ({folder} does not exist): idle allocations are not seen"
        yield Check(name="slurm", state="note", found=found, fix="install deploy/hooks, see its README.md")
    for name in (collector.gpustat_dir, collector.dcgm_job_dir):
        if name and Path(name).is_dir():
            yield Check(name="slurm", state="good", found=f"the site's own files in {name}")
    try:
        _OF_ANOTHER_USER.read_bytes()
    except OSError:
        found = "environments of steps may not be read: without drop-files, jobs are found by their processes alone"
        yield Check(name="slurm", state="note", found=found, fix="nothing, where the hooks are installed")
