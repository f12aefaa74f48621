"""Command line: python -m tests.slurm.cluster up|down|status|env|exec|as|node."""

import argparse
import os
import sys
from pathlib import Path

from tests.slurm.cluster import ClusterError, accounts, commands, report
from tests.slurm.cluster.state import Cluster, Shape

_DEFAULT_STATE = os.environ.get("SLURM_CLUSTER_STATE", "/tmp/slurm-cluster")


def main() -> int:
    """Run one operation; return its exit status, 2 with one sentence when it could not be done."""
    arguments = _parser().parse_args()
    try:
        return _dispatch(Cluster(arguments.state_dir), arguments)
    except ClusterError as error:
        report(f"{error}")
        return 2


def _dispatch(cluster: Cluster, arguments: argparse.Namespace) -> int:
    match arguments.operation:
        case "up":
            associations = accounts.parse(arguments.assoc)
            commands.up(cluster, _shape(arguments), associations, arguments.owner, arguments.timeout)
        case "down":
            commands.down(
                cluster, purge=arguments.purge, remove_users=arguments.remove_users, only_orphan=arguments.orphan
            )
        case "status":
            return commands.status(cluster, as_json=arguments.json)
        case "env":
            print(f"export SLURM_CONF={cluster.environment['SLURM_CONF']}\nexport SLURM_CLUSTER_STATE={cluster.folder}")
        case "exec":
            return commands.execute(cluster, arguments.node, _command(arguments), arguments.env)
        case "as":
            commands.execute_as(cluster, arguments.user, _command(arguments))
        case "node":
            commands.change_node(cluster, arguments.node, arguments.what)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.slurm.cluster", description=__doc__)
    operations = parser.add_subparsers(dest="operation", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--state-dir", type=Path, default=Path(_DEFAULT_STATE))
    _add_up(operations.add_parser("up", parents=[common], help="start it and wait until every node takes jobs"))
    down = operations.add_parser("down", parents=[common], help="stop it")
    down.add_argument("--purge", action="store_true", help="remove the state folder as well")
    down.add_argument("--remove-users", action="store_true", help="remove the Unix users that `up` made")
    down.add_argument("--orphan", action="store_true", help="only when its --owner is gone")
    status = operations.add_parser("status", parents=[common], help="what runs, and the states of the nodes")
    status.add_argument("--json", action="store_true")
    operations.add_parser("env", parents=[common], help="`export` lines for a shell's eval")
    inside = operations.add_parser("exec", parents=[common], help="run a command as root inside a node")
    inside.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    inside.add_argument("node")
    user = operations.add_parser("as", parents=[common], help="run a command (sbatch, squeue) as a user")
    user.add_argument("user")
    for operation in (inside, user):
        operation.add_argument("command", nargs=argparse.REMAINDER, help="-- COMMAND...")
    node = operations.add_parser("node", parents=[common], help="start, stop or crash one node")
    node.add_argument("node")
    node.add_argument("what", choices=["start", "stop", "kill"])
    return parser


def _add_up(up: argparse.ArgumentParser) -> None:
    default = Shape()
    up.add_argument("--nodes", type=int, default=default.nodes)
    up.add_argument("--gpus", type=int, default=default.gpus, help="GPUs per node; 0 for none")
    up.add_argument("--gpu-type", default=default.gpu_type, help="GRES type; empty for untyped")
    up.add_argument("--cpus", type=int, default=default.cpus, help="pretended cores per node")
    up.add_argument("--mem", type=int, default=default.memory_mib, help="pretended MiB per node")
    up.add_argument("--prefix", default=default.prefix, help="nodes are called PREFIX1..N")
    up.add_argument("--name", default=default.name, help="the cluster's name")
    up.add_argument("--isolation", choices=["auto", "namespaces", "none"], default=default.isolation)
    up.add_argument("--gather", choices=["linux", "cgroup"], default=default.gather, help="jobacct_gather plugin")
    up.add_argument("--gather-freq", type=int, default=default.gather_freq_s, help="its period in seconds")
    up.add_argument("--exclusive-partition", action="store_true", help="add a partition that gives whole nodes")
    up.add_argument("--no-constrain-devices", action="store_true", help="jobs see all GPUs, numbered as on the node")
    up.add_argument("--conf", action="append", default=[], metavar="LINE", help="one more line for slurm.conf")
    up.add_argument("--assoc", default="physics:alice,chem:bob,physics:bob", help="account:user,...; first is default")
    up.add_argument("--owner", type=int, help="pid of the process that this cluster is for")
    up.add_argument("--timeout", type=float, default=60, help="seconds to wait for the nodes")


def _shape(arguments: argparse.Namespace) -> Shape:
    return Shape(
        nodes=arguments.nodes,
        gpus=arguments.gpus,
        gpu_type=arguments.gpu_type,
        cpus=arguments.cpus,
        memory_mib=arguments.mem,
        prefix=arguments.prefix,
        name=arguments.name,
        isolation=arguments.isolation,
        gather=arguments.gather,
        gather_freq_s=arguments.gather_freq,
        exclusive_partition=arguments.exclusive_partition,
        constrain_devices=not arguments.no_constrain_devices,
        conf=tuple(arguments.conf),
    )


def _command(arguments: argparse.Namespace) -> list[str]:
    command: list[str] = arguments.command
    command = command[1:] if command[:1] == ["--"] else command
    if not command:
        raise ClusterError("Name a command to run, after `--`.")
    return command


if __name__ == "__main__":
    sys.exit(main())
