"""The texts of Slurm's and MariaDB's configuration files for one cluster."""

from tests.slurm.cluster.slurm_conf import HOOKS, slurm_conf
from tests.slurm.cluster.state import Cluster, make_folder, write_file

_WITHOUT_CGROUPS_SINCE = (23, 2)


def write_all(cluster: Cluster) -> None:
    """Write every configuration file and hook below the cluster's etc folder."""
    etc = cluster / "etc"
    write_file(etc / "hosts", hosts(cluster))
    write_file(etc / "gres.conf", gres_conf(cluster))
    write_file(etc / "cgroup.conf", cgroup_conf(cluster))
    write_file(etc / "slurm.conf", slurm_conf(cluster))
    write_file(etc / "slurmdbd.conf", slurmdbd_conf(cluster), 0o600, "slurm")
    write_file(etc / "my.cnf", my_cnf(cluster))
    for hook in HOOKS:
        make_folder(etc / f"{hook}.d")
        write_file(etc / hook, hook_script(cluster, hook), 0o755)


def hosts(cluster: Cluster) -> str:
    """All nodes are on loopback; their ports tell them apart."""
    names = ["localhost", cluster.surroundings.host, *cluster.shape.node_names]
    return "".join(f"127.0.0.1 {name}\n" for name in names)


def gres_conf(cluster: Cluster) -> str:
    shape = cluster.shape
    if not shape.gpus:
        return "AutoDetect=off\n"
    # Every node in a namespace has a /dev of its own; without one, all nodes point at files in the state folder.
    folder = "/dev" if cluster.surroundings.isolation == "namespaces" else cluster / "dev"
    files = f"{folder}/nvidia" + (f"[0-{shape.gpus - 1}]" if shape.gpus > 1 else "0")
    kind = f" Type={shape.gpu_type}" if shape.gpu_type else ""
    return f"AutoDetect=off\nNodeName={shape.prefix}[1-{shape.nodes}] Name=gpu{kind} File={files}\n"


def cgroup_conf(cluster: Cluster) -> str:
    if cluster.surroundings.cgroup == "none":
        # "disabled" is a plugin only from 23.02 on; before, an unused one has to be named.
        recent = cluster.surroundings.slurm_version >= _WITHOUT_CGROUPS_SINCE
        return "CgroupPlugin=disabled\n" if recent else "CgroupPlugin=cgroup/v1\n"
    return (
        "CgroupPlugin=cgroup/v1\n"
        "CgroupMountpoint=/sys/fs/cgroup\n"
        f"ConstrainDevices={'yes' if cluster.shape.constrain_devices else 'no'}\n"
        "ConstrainRAMSpace=yes\n"
        "ConstrainSwapSpace=no\n"
        "ConstrainCores=no\n"
    )


def slurmdbd_conf(cluster: Cluster) -> str:
    """slurmdbd has no option for a database socket, so MariaDB listens on loopback."""
    found = cluster.surroundings
    return f"""\
AuthType=auth/munge
AuthInfo=socket={cluster / "munge/socket"}
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={found.base_port + 1}
SlurmUser=slurm
DebugLevel=info
LogFile={cluster / "log/slurmdbd.log"}
PidFile={cluster / "run/slurmdbd.pid"}
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={found.base_port}
StorageUser=slurm
StoragePass={found.database_password}
StorageLoc=slurm_acct_db
"""


def my_cnf(cluster: Cluster) -> str:
    """Small, and quick rather than durable. With latin1, the default, job names outside it turn into `?`."""
    return f"""\
[mysqld]
datadir={cluster / "db"}
socket={cluster / "run/m.sock"}
pid-file={cluster / "db/mariadb.pid"}
bind-address=127.0.0.1
port={cluster.surroundings.base_port}
skip-name-resolve
skip-log-bin
character-set-server=utf8mb4
collation-server=utf8mb4_general_ci
skip-character-set-client-handshake
performance-schema=0
innodb-buffer-pool-size=64M
innodb-log-file-size=64M
innodb-lock-wait-timeout=900
innodb-flush-log-at-trx-commit=0
innodb-flush-method=nosync
innodb-use-native-aio=0
max-allowed-packet=16M
"""


def hook_script(cluster: Cluster, hook: str) -> str:
    """Return a hook that dumps its environment to hooks/ for tests to read, then runs etc/HOOK.d/*.

    The dump is separated by NUL, so that any job name survives. Exit 0 whatever happens: a failing hook drains
    the node.
    """
    return f"""\
#!/bin/sh
job=${{SLURMD_NODENAME:-x}}.${{SLURM_JOB_ID:-0}}
step=${{SLURM_STEP_ID:-}}${{SLURM_STEP_ID:+.}}${{SLURM_PROCID:-}}${{SLURM_PROCID:+.}}
dump="{cluster / "hooks"}/$job.${{step}}{hook}"
env -0 > "$dump.new" 2>/dev/null && mv "$dump.new" "$dump"
for script in {cluster / "etc"}/{hook}.d/*; do [ -x "$script" ] && "$script"; done
exit 0
"""
