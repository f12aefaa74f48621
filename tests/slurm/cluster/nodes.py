"""Starts and ends the nodes: one slurmd each, in namespaces of its own where they can be made."""

import os
import signal
import sys
from collections.abc import Sequence

from tests.slurm.cluster import ClusterError, cgroups
from tests.slurm.cluster.namespaces import unshare
from tests.slurm.cluster.node_init import live_as_node
from tests.slurm.cluster.state import Cluster, make_folder


def start(cluster: Cluster, node: str) -> None:
    """Start a node and record its process: pid 1 of its namespaces, or slurmd itself."""
    make_folder(cluster / f"spool/{node}")
    argv = ["slurmd", "-D", "-N", node, "-f", str(cluster / "etc/slurm.conf")]
    if cluster.surroundings.isolation == "none":
        cluster.processes.spawn(node, argv)
        return
    reading, writing = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.close(reading)
        _fork_first_process(cluster, node, argv, writing)
    os.close(writing)
    os.waitpid(middle, 0)
    with os.fdopen(reading) as pipe:
        pid = pipe.read()
    if not pid:
        raise ClusterError(f"{node}: its namespaces could not be made\n{cluster.processes.log_tail(node)}")
    cluster.processes.record(node, int(pid))


def end(cluster: Cluster, names: Sequence[str], number: int = signal.SIGTERM) -> None:
    """End nodes together with all that runs on them.

    A suspended job's processes are frozen while its slurmstepd ends, and a frozen process does not die, not even
    by SIGKILL, before it is thawed: pid 1 of the node would wait for it in its own exit.
    """
    cluster.processes.end(names, number, while_waiting=lambda: cgroups.thaw(names))


def _fork_first_process(cluster: Cluster, node: str, argv: Sequence[str], writing: int) -> None:
    """Make the namespaces, tell the caller the pid of their first process, and be gone."""
    try:
        os.setsid()
        output = os.open(cluster / f"log/{node}.out", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        for descriptor, target in ((os.open("/dev/null", os.O_RDONLY), 0), (output, 1), (output, 2)):
            os.dup2(descriptor, target)
        unshare()
        pid = os.fork()
        if pid:
            os.write(writing, str(pid).encode())
        else:
            os.closerange(3, 256)  # the caller's locks and its end of the pipe
            live_as_node(cluster, node, argv)
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - a forked child must never return into its parent's code
        print(f"{node}: {error!r}", file=sys.stderr, flush=True)
    os._exit(1)
