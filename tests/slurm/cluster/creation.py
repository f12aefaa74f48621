"""Makes the state folder of a new cluster: checks that it can work, looks around, writes keys and configuration."""

import os
import pwd
import secrets
import socket
from pathlib import Path
from typing import Literal

from tests.slurm.cluster import ClusterError, cgroups, configuration, probes, report
from tests.slurm.cluster.node_init import make_gpu_devices
from tests.slurm.cluster.slurm_conf import ports_needed
from tests.slurm.cluster.state import MARK, Cluster, Shape, Surroundings, make_folder, write_file

_LONGEST_SOCKET_PATH = 105
_FOLDERS: tuple[tuple[str, int, str | None], ...] = (
    ("etc", 0o755, None),
    ("run", 0o755, None),
    ("log", 0o755, "slurm"),
    ("munge", 0o755, "munge"),
    ("db", 0o700, "slurm"),
    ("ctld", 0o755, "slurm"),
    ("spool", 0o755, None),
    ("hooks", 0o1777, None),
    ("home", 0o755, None),
    ("dev", 0o755, None),
)


def create(cluster: Cluster, shape: Shape) -> None:
    """Make the cluster, or find it made with the same shape already. The caller holds the machine's lock."""
    if cluster.made:
        if cluster.shape != shape:
            raise ClusterError(
                f"{cluster.folder} holds a cluster of another shape ({cluster.shape}): `down --purge` it first."
            )
        return
    _check_folder(cluster, shape)
    cluster.save(shape, _look_around(shape))
    for name, mode, owner in _FOLDERS:
        make_folder(cluster / name, mode, owner)
    _write_munge_key(cluster / "munge/key")
    if cluster.surroundings.isolation == "none":
        make_gpu_devices(cluster / "dev", shape.gpus, cluster.surroundings.device_major)
    configuration.write_all(cluster)
    found = cluster.surroundings
    major, minor, patch = found.slurm_version
    report(
        f"Slurm {major}.{minor:02}.{patch}, isolation {found.isolation}, cgroup {found.cgroup}, "
        f"ports from {found.base_port}, {shape.nodes} nodes with {shape.gpus} GPUs each"
    )


def _check_folder(cluster: Cluster, shape: Shape) -> None:
    folder = cluster.folder
    if not cluster.exists and any(folder.iterdir()):
        raise ClusterError(f"{folder} is not empty and no test cluster: choose another --state-dir.")
    # Slurm names its control groups after the node alone, so two clusters with equal names would end each other's jobs.
    if taken := cgroups.of_nodes(shape.node_names):
        raise ClusterError(f"{taken[0]} belongs to another cluster's node: choose another --prefix.")
    last = shape.node_names[-1]
    socket_path = cluster / f"spool/{last}/{last}_1234567.4294967292"  # NODE_JOB.STEP, with the largest step
    if len(str(socket_path)) > _LONGEST_SOCKET_PATH:
        raise ClusterError(
            f"{folder} is too long for the Unix sockets that Slurm makes below it: choose a shorter one."
        )
    if Path("/run") in folder.parents:
        raise ClusterError(f"{folder} is below /run, which every node has for itself: choose another --state-dir.")
    if closed := probes.closed_to_users(folder):
        raise ClusterError(f"Ordinary users cannot enter {closed}, and jobs need it: choose another --state-dir.")
    write_file(cluster / MARK, "")


def _look_around(shape: Shape) -> Surroundings:
    return Surroundings(
        isolation=_isolation(shape),
        cgroup=cgroups.mode(),
        base_port=probes.free_port_range(ports_needed(shape.nodes)),
        slurm_version=probes.slurm_version(),
        device_major=probes.free_device_major(),
        host=socket.gethostname().split(".")[0],
        database_password=secrets.token_hex(8),
    )


def _isolation(shape: Shape) -> Literal["namespaces", "none"]:
    if shape.isolation == "none" or (not probes.can_make_namespaces() and shape.isolation == "auto"):
        return "none"
    if not probes.can_make_namespaces():
        raise ClusterError("Namespaces cannot be made here: use --isolation none, or run with CAP_SYS_ADMIN.")
    return "namespaces"


def _write_munge_key(path: Path) -> None:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o400), "wb") as file:
        file.write(secrets.token_bytes(128))
    account = pwd.getpwnam("munge")
    os.chown(path, account.pw_uid, account.pw_gid)
