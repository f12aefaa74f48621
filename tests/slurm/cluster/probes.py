"""What this machine can do: installed programs, namespaces, free ports, Slurm's version, a device number."""

import os
import re
import shutil
import socket
from pathlib import Path

from tests.slurm.cluster import ClusterError
from tests.slurm.cluster.namespaces import make_private, unshare
from tests.slurm.cluster.processes import run

_PROGRAMS = (
    "munged",
    "mariadbd",
    "mariadb-install-db",
    "mariadb",
    "slurmdbd",
    "slurmctld",
    "slurmd",
    "sacctmgr",
    "sinfo",
)
_SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ENVIRONMENT = {"PATH": _SEARCHED, "LANG": "C.UTF-8"}
_NVIDIA_MAJOR = 195
_LOCAL_MAJORS = range(240, 255)  # kept for local use by the kernel's list of devices


def require_programs() -> None:
    """Raise ClusterError, naming what is missing and the packages that bring it, unless all is installed."""
    missing = [name for name in _PROGRAMS if not shutil.which(name, path=_SEARCHED)]
    if not list(Path("/usr/lib").glob("*/slurm-wlm/accounting_storage_mysql.so")):
        missing.append("the accounting_storage/mysql plugin")
    if missing:
        packages = (Path(__file__).parents[1] / "packages.txt").read_text().split()
        raise ClusterError(
            f"Missing here: {', '.join(missing)}; install them with "
            f"`apt-get install --no-install-recommends {' '.join(packages)}`."
        )


def can_make_namespaces() -> bool:
    """Try it in a child: the right to make them, and a root that is a mount point.

    A bare chroot's root is none and mount says EINVAL; `mount --bind ROOT ROOT` before the chroot cures it.
    """
    child = os.fork()
    if child == 0:
        try:
            unshare()
            make_private()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def free_port_range(wanted: int, first: int = 17000, last: int = 60000, step: int = 500) -> int:
    """Return the first of a row of free loopback ports.

    Slurm wants the nodes' ports in a row, so the kernel cannot pick them one by one.
    """
    for base in range(first, last, step):
        sockets: list[socket.socket] = []
        try:
            for port in range(base, base + wanted):
                sockets.append(socket.socket())
                sockets[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sockets[-1].bind(("127.0.0.1", port))
        except OSError:
            continue
        else:
            return base
        finally:
            for opened in sockets:
                opened.close()
    raise ClusterError(f"No {wanted} free ports in a row between {first} and {last}: end what holds them.")


def slurm_version() -> tuple[int, int, int]:
    """Return the installed slurmd's version, for example (22, 5, 8)."""
    output = run(["slurmd", "-V"], _ENVIRONMENT)
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", output)
    if not found:
        raise ClusterError(f"`slurmd -V` names no version: {output}")
    return int(found[1]), int(found[2]), int(found[3])


def free_device_major() -> int:
    """Return NVIDIA's character device major, or a local one where a real driver owns that."""
    numbers = re.findall(r"^\s*(\d+) ", Path("/proc/devices").read_text(), re.MULTILINE)
    used = set(map(int, numbers))
    free: set[int] = {_NVIDIA_MAJOR, *_LOCAL_MAJORS} - used
    return min(free)  # NVIDIA's is the smallest of them


def closed_to_users(path: Path) -> Path | None:
    """Return the first folder on the way that ordinary users cannot enter; jobs read the cluster's files."""
    return next((part for part in [path, *path.parents] if not part.stat().st_mode & 0o001), None)
