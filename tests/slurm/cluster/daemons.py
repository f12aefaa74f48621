"""Starts munged, MariaDB, slurmdbd and slurmctld, and waits until each answers."""

from collections.abc import Sequence

from tests.slurm.cluster import ClusterError, report
from tests.slurm.cluster.processes import attempt, run
from tests.slurm.cluster.state import Cluster, make_folder


def start_services(cluster: Cluster) -> None:
    """Start what accounting needs: munged and MariaDB side by side, then slurmdbd. Running ones are kept."""
    if not cluster.processes.alive("munged"):
        _start_munged(cluster)
    if not cluster.processes.alive("mariadb"):
        _start_mariadb(cluster)
    _wait_for(cluster, "munged", ["munge", "-n", "-S", str(cluster / "munge/socket")])
    _wait_for(cluster, "mariadb", _sql(cluster, "select 1"))
    _make_database(cluster)
    if not cluster.processes.alive("slurmdbd"):
        cluster.processes.spawn("slurmdbd", ["slurmdbd", "-D"])
    _wait_for(cluster, "slurmdbd", ["sacctmgr", "-n", "-P", "show", "cluster", "format=cluster"])
    report("munged, mariadb and slurmdbd ready")


def start_controller(cluster: Cluster) -> None:
    """Start slurmctld; it wants the accounts to be there."""
    if not cluster.processes.alive("slurmctld"):
        cluster.processes.spawn("slurmctld", ["slurmctld", "-D", "-f", str(cluster / "etc/slurm.conf")])


def node_states(cluster: Cluster) -> dict[str, str]:
    """Return what slurmctld says of each node, for example {"n1": "idle"}; empty while it does not answer."""
    status, output = attempt(["sinfo", "-h", "-N", "-o", "%N %T"], cluster.environment, 20)
    pairs = [line.split() for line in output.splitlines()] if status == 0 else []
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def wait_for_nodes(cluster: Cluster, timeout_s: float) -> None:
    """Wait until every node takes jobs; one that a crash left down or drained is put back into service."""
    fit = {"idle", "mixed", "allocated", "completing"}

    def amiss() -> str | None:
        states = node_states(cluster)
        for node, state in states.items():
            if state.startswith(("down", "drain")) and not state.endswith("*"):  # `*`: slurmd does not answer yet
                attempt(["scontrol", "update", f"nodename={node}", "state=resume"], cluster.environment)
        return None if set(states) == set(cluster.shape.node_names) and set(states.values()) <= fit else str(states)

    cluster.processes.wait("the nodes", amiss, timeout_s, ["slurmctld", "slurmdbd", *cluster.shape.node_names])


def _start_munged(cluster: Cluster) -> None:
    folder = cluster / "munge"
    files = [(f"--{name}", str(folder / part)) for name, part in _MUNGE_FILES.items()]
    options = [part for pair in files for part in pair]
    cluster.processes.spawn("munged", ["munged", "-F", "--num-threads", "4", *options], user="munge")


_MUNGE_FILES = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed", "log-file": "log"}


def _start_mariadb(cluster: Cluster) -> None:
    configuration = f"--defaults-file={cluster / 'etc/my.cnf'}"
    environment = {**cluster.environment, "HOME": "/nonexistent"}  # no ~/.my.cnf of whoever runs the tests
    if not (cluster / "db/mysql").is_dir():
        # --force: without it, no /etc/hosts entry for this machine is an error.
        options = ["--user=slurm", "--skip-test-db", "--force", "--skip-name-resolve"]
        options += ["--auth-root-authentication-method=normal"]
        run(["mariadb-install-db", configuration, *options], environment, 120)
    make_folder(cluster / "run", 0o1777)  # the server, running as slurm, makes its socket there
    cluster.processes.spawn("mariadb", ["mariadbd", configuration], user="slurm", environment=environment)


def _make_database(cluster: Cluster) -> None:
    password = cluster.surroundings.database_password
    statements = (
        "create database if not exists slurm_acct_db;"
        f"create or replace user slurm@127.0.0.1 identified by '{password}';"
        "grant all on slurm_acct_db.* to slurm@127.0.0.1;"
    )
    status, output = attempt(_sql(cluster, statements), cluster.environment, 20)
    if status:
        raise ClusterError(f"The accounting database could not be made:\n{output}")


def _sql(cluster: Cluster, statements: str) -> list[str]:
    socket = str(cluster / "run/m.sock")
    return ["mariadb", "--no-defaults", "-S", socket, "-u", "root", "-N", "-e", statements]


def _wait_for(cluster: Cluster, service: str, probe: Sequence[str]) -> None:
    def amiss() -> str | None:
        status, output = attempt(probe, cluster.environment, 20)
        return output if status else None

    cluster.processes.wait(service, amiss, 60, [service])
