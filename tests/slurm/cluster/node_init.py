"""What pid 1 of a node does: gives it its own /proc, /run and /dev, starts slurmd and reaps the rest."""

import os
import signal
import socket
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.slurm.cluster.namespaces import MS_BIND, MS_MOVE, MS_NOSUID, make_private, mount
from tests.slurm.cluster.state import Cluster

_CONTROL_MINOR = 255
_PLAIN_DEVICES = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "tty": (5, 0),
}
_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}


def live_as_node(cluster: Cluster, node: str, argv: Sequence[str]) -> None:
    """Furnish the namespaces this process is pid 1 of, run slurmd until it ends, then return.

    When pid 1 exits, the kernel kills all that is left in the PID namespace and drops the mounts.
    """
    os.chdir("/")
    socket.sethostname(node)
    make_private()
    mount("proc", "/proc", "proc")
    if Path("/etc/hosts").exists():
        mount(str(cluster / "etc/hosts"), "/etc/hosts", flags=MS_BIND)
    _mount_devices(cluster)
    # Each real node has its own /run: drop-files and sockets of agents must not meet those of other nodes.
    mount("run", "/run", "tmpfs", MS_NOSUID, "mode=755,size=64m")
    _reap_until_slurmd_ends(subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=cluster.environment, cwd="/"), node)


def make_gpu_devices(folder: Path, gpus: int, major: int) -> None:
    """Make the device files nvidia0..N-1 that gres.conf names; no driver is behind them."""
    for index in range(gpus):
        _make_device(folder / f"nvidia{index}", major, index)


def _mount_devices(cluster: Cluster) -> None:
    fresh = cluster / "dev"
    mount("dev", str(fresh), "tmpfs", MS_NOSUID, "mode=755,size=4m")
    for name, (major, minor) in _PLAIN_DEVICES.items():
        _make_device(fresh / name, major, minor)
    major = cluster.surroundings.device_major
    make_gpu_devices(fresh, cluster.shape.gpus, major)
    if cluster.shape.gpus:
        _make_device(fresh / "nvidiactl", major, _CONTROL_MINOR)
    for name, target in _LINKS.items():
        (fresh / name).symlink_to(target)
    (fresh / "pts").mkdir()
    (fresh / "shm").mkdir()
    if Path("/dev/pts").is_dir():
        mount("devpts", str(fresh / "pts"), "devpts", MS_NOSUID, "newinstance,ptmxmode=0666,mode=620")
    mount("shm", str(fresh / "shm"), "tmpfs", MS_NOSUID, "mode=1777")
    mount(str(fresh), "/dev", flags=MS_MOVE)


def _make_device(path: Path, major: int, minor: int) -> None:
    if not path.exists():
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        path.chmod(0o666)


def _reap_until_slurmd_ends(slurmd: subprocess.Popen[bytes], node: str) -> None:
    signal.signal(signal.SIGTERM, lambda number, _frame: os.kill(slurmd.pid, number))
    while True:
        pid, status = os.wait()
        if pid == slurmd.pid:
            print(f"{node}: slurmd ended with {os.waitstatus_to_exitcode(status)}", flush=True)
            return
