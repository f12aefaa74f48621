"""The operations of the command line, each on one cluster."""

import json
import os
import pwd
import shutil
import signal
import time
from collections.abc import Sequence
from typing import Literal, NoReturn

from tests.slurm.cluster import ClusterError, accounts, cgroups, creation, daemons, nodes, probes, report
from tests.slurm.cluster.namespaces import run_inside
from tests.slurm.cluster.processes import attempt
from tests.slurm.cluster.state import Cluster, Shape, machine_lock, make_folder

_SCANCEL_TRIES = 50


def up(
    cluster: Cluster, shape: Shape, associations: Sequence[accounts.Association], owner: int | None, timeout_s: float
) -> None:
    """Start the cluster, or what of it does not run, and wait until every node takes jobs.

    owner is the pid of a process that the cluster must not outlive.
    """
    if os.geteuid() != 0:
        raise ClusterError("The cluster needs root: it makes users, namespaces and devices.")
    probes.require_programs()
    os.umask(0o022)
    with machine_lock():
        cluster = Cluster(cluster.folder)  # another `up` may have made it while this one waited
        make_folder(cluster.folder)
        creation.create(cluster, shape)
        if owner:
            cluster.processes.record("owner", owner)
        accounts.make_users(cluster, associations)
        daemons.start_services(cluster)
        accounts.make_associations(cluster, associations)
        daemons.start_controller(cluster)
        for node in shape.node_names:
            if not cluster.processes.alive(node):
                nodes.start(cluster, node)
        daemons.wait_for_nodes(cluster, timeout_s)
    report(f"up: {', '.join(shape.node_names)}; export SLURM_CONF={cluster / 'etc/slurm.conf'}")


def down(cluster: Cluster, *, purge: bool, remove_users: bool, only_orphan: bool) -> None:
    """Stop all that runs; with purge remove the state folder, and with remove_users the users that none needs.

    With only_orphan, a cluster whose owner runs (or that has none) is left alone.
    """
    with machine_lock():
        cluster = Cluster(cluster.folder)
        if not cluster.exists or (only_orphan and not _orphaned(cluster)):
            report(f"nothing to do at {cluster.folder}")
            return
        if cluster.made:
            _stop(cluster)
            if remove_users:
                accounts.remove_users(cluster)
        if purge:
            shutil.rmtree(cluster.folder)
    report(f"down{' and removed' if purge else ''}: {cluster.folder}")


def status(cluster: Cluster, *, as_json: bool) -> int:
    """Print what runs; return 0 when all does, 1 when not, 3 when there is no cluster."""
    if not cluster.made:
        print(json.dumps({"state": "absent"}) if as_json else f"no cluster at {cluster.folder}")
        return 3
    pids = {name: cluster.processes.alive(name) for name in cluster.process_names}
    states = daemons.node_states(cluster) if pids["slurmctld"] else {}
    state = "up" if all(pids.values()) else "partial" if any(pids.values()) else "down"
    if as_json:
        print(
            json.dumps({"state": state, "pids": pids, "nodes": states, "slurm_conf": str(cluster / "etc/slurm.conf")})
        )
    else:
        for name, pid in pids.items():
            print(f"{name:16} {f'pid {pid}' if pid else 'DOWN':12} {states.get(name, '')}")
    return 0 if state == "up" else 1


def execute(cluster: Cluster, node: str, argv: Sequence[str], extra: Sequence[str]) -> int:
    """Run a command as root beside a node's slurmd, with NAME=VALUE pairs added to the small environment.

    Returns its exit status; without namespaces this process becomes the command.
    """
    pid = cluster.processes.alive(node) if node in cluster.shape.node_names else None
    if not pid:
        raise ClusterError(f"Node {node} does not run; there are {', '.join(cluster.shape.node_names)}.")
    environment = {**cluster.environment, "SLURMD_NODENAME": node}
    environment.update((name, value) for name, _, value in (pair.partition("=") for pair in extra))
    if cluster.surroundings.isolation == "none":
        os.execvpe(argv[0], list(argv), environment)
    return run_inside(pid, argv, environment)


def execute_as(cluster: Cluster, user: str, argv: Sequence[str]) -> NoReturn:
    """Become the user, in the user's home, and become a command such as sbatch."""
    home = cluster / f"home/{user}"
    if not home.is_dir():
        raise ClusterError(f"{user} is no user of this cluster; name one in `up --assoc account:user`.")
    account = pwd.getpwnam(user)
    os.initgroups(user, account.pw_gid)
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
    os.chdir(home)
    os.execvpe(argv[0], list(argv), {**cluster.environment, "HOME": str(home), "USER": user, "LOGNAME": user})


def change_node(cluster: Cluster, node: str, what: Literal["start", "stop", "kill"]) -> None:
    """Start a node, stop it in order, or crash it: kill loses all that ran there at once."""
    if node not in cluster.shape.node_names:
        raise ClusterError(f"There is no node {node}; there are {', '.join(cluster.shape.node_names)}.")
    with machine_lock():
        if what != "start":
            nodes.end(cluster, [node], signal.SIGKILL if what == "kill" else signal.SIGTERM)
        elif not cluster.processes.alive(node):
            nodes.start(cluster, node)


def _orphaned(cluster: Cluster) -> bool:
    return (cluster / "run/owner.pid.json").exists() and not cluster.processes.alive("owner")


def _stop(cluster: Cluster) -> None:
    if cluster.surroundings.isolation == "none" and cluster.processes.alive("slurmctld"):
        _cancel_jobs(cluster)
    nodes.end(cluster, cluster.shape.node_names)
    for service in ("slurmctld", "slurmdbd", "mariadb", "munged"):  # each needs the next to save its state
        cluster.processes.end([service], timeout_s=40)
    cgroups.remove(cluster.shape.node_names)


def _cancel_jobs(cluster: Cluster) -> None:
    """Without namespaces, jobs outlive their slurmd: have Slurm end them while it can."""
    cgroups.thaw(cluster.shape.node_names)
    for _ in range(_SCANCEL_TRIES):
        attempt(["scancel", "--state=running"], cluster.environment)
        attempt(["scancel", "--state=suspended"], cluster.environment)
        if not attempt(["squeue", "-h"], cluster.environment)[1].strip():
            return
        attempt(["scancel", "--signal=KILL", "--full", "--state=running"], cluster.environment)
        time.sleep(0.2)
