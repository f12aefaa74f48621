"""The control groups that slurmd makes for its jobs: whether it can, thawing them, and removing what is left.

Slurm's cgroup/v1 refuses a cgroup namespace (it wants release_agent at the root), so all nodes share the
machine's hierarchies. Debian builds Slurm with MULTIPLE_SLURMD: node n1's groups are below slurm_n1.
"""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from tests.slurm.cluster import report
from tests.slurm.cluster.processes import signal_if_same, start_time

_TREE = Path("/sys/fs/cgroup")
_CONTROLLERS = ("freezer", "cpuset", "memory", "devices", "cpuacct")
_REMOVAL_TRIES = 20


def mode() -> Literal["v1", "none"]:
    """Return v1 only when every controller that Slurm uses is a writable v1 hierarchy."""
    folders = [_TREE / name for name in _CONTROLLERS]
    if not all((folder / "release_agent").exists() and os.access(folder, os.W_OK) for folder in folders):
        return "none"
    probe = _TREE / f"freezer/slurm_probe_{os.getpid()}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return "none"
    return "v1"


def of_nodes(nodes: Sequence[str]) -> list[Path]:
    """Return the top groups of these nodes, in every hierarchy."""
    return [top for node in nodes for top in _TREE.glob(f"*/slurm_{node}")]


def thaw(nodes: Sequence[str]) -> None:
    """Let the processes of suspended jobs run again."""
    for top in (_TREE / "freezer" / f"slurm_{node}" for node in nodes):
        for state in _files(top, "freezer.state"):
            _write_if_there(state, "THAWED")


def remove(nodes: Sequence[str]) -> None:
    """Kill what is left in these nodes' groups and remove them; the cluster is their only user (`creation`)."""
    thaw(nodes)
    left = {pid: started for pid in _members(nodes) if (started := start_time(pid)) is not None}
    if left:
        report(f"killing what is left of jobs: {sorted(left)}")
    for pid, started in left.items():
        signal_if_same(pid, started, signal.SIGKILL)
    for _ in range(_REMOVAL_TRIES):
        for top in of_nodes(nodes):
            _remove_empty(top)
        if not of_nodes(nodes):
            return
        time.sleep(0.1)
    report(f"control groups not removed: {of_nodes(nodes)}")


def _members(nodes: Sequence[str]) -> Iterator[int]:
    for top in of_nodes(nodes):
        for listing in _files(top, "cgroup.procs"):
            try:
                yield from filter(None, map(int, listing.read_text().split()))
            except OSError:
                continue  # it went meanwhile


def _files(top: Path, name: str) -> Iterator[Path]:
    """Yields the file of each group; Slurm and its release agent remove groups meanwhile, which os.walk passes over."""
    for folder, _, files in os.walk(top):
        if name in files:
            yield Path(folder, name)


def _remove_empty(top: Path) -> None:
    for folder, _, _ in os.walk(top, topdown=False):
        try:
            Path(folder).rmdir()
        except OSError:
            continue  # gone meanwhile, or a process is still dying in it: the next try finds out


def _write_if_there(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError:
        return
