"""The text of slurm.conf, read by slurmctld, every slurmd and every client of the cluster."""

from tests.slurm.cluster.state import Cluster

HOOKS = ("prolog", "epilog", "taskprolog")
_FIRST_NODE_PORT = 10
_REQUEUED_WAITS_S = 15  # and at least as long are credentials of job steps good; 120 by default
_LINE_END = "\n"


def ports_needed(nodes: int) -> int:
    """MariaDB, slurmdbd and slurmctld have the first three ports of the range, the nodes those from the tenth on."""
    return _FIRST_NODE_PORT + nodes


def slurm_conf(cluster: Cluster) -> str:
    shape, found = cluster.shape, cluster.surroundings
    with_cgroups = found.cgroup == "v1"
    kind = f":{shape.gpu_type}" if shape.gpu_type else ""
    munge_socket = cluster / "munge/socket"
    return f"""\
# Written by tests/slurm/cluster; `up` keeps it as it is.
ClusterName={shape.name}
SlurmctldHost={found.host}(127.0.0.1)
SlurmctldPort={found.base_port + 2}
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={munge_socket},cred_expire={_REQUEUED_WAITS_S}
CredType=cred/munge
StateSaveLocation={cluster / "ctld"}
SlurmdSpoolDir={cluster / "spool/%n"}
SlurmctldPidFile={cluster / "run/slurmctld.pid"}
SlurmdPidFile={cluster / "run/slurmd.%n.pid"}
SlurmctldLogFile={cluster / "log/slurmctld.log"}
SlurmdLogFile={cluster / "log/%n.log"}
SlurmctldDebug=info
SlurmdDebug=info
LogTimeFormat=iso8601_ms
ProctrackType={"proctrack/cgroup" if with_cgroups else "proctrack/linuxproc"}
TaskPlugin={"task/cgroup" if with_cgroups else "task/none"}
JobAcctGatherType=jobacct_gather/{shape.gather if with_cgroups else "linux"}
JobAcctGatherFrequency=task={shape.gather_freq_s}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=512
GresTypes=gpu
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=5,sched_min_interval=0,batch_sched_delay=0
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare=10000
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={found.base_port + 1}
# Clients find a munged of one's own for slurmdbd through this, not through AuthInfo.
AccountingStoragePass={munge_socket}
AccountingStorageTRES=gres/gpu{f",gres/gpu{kind}" if kind else ""}
AccountingStorageEnforce=associations,limits,qos
AccountingStoreFlags=job_comment
{_hooks(cluster)}
PrologFlags=Alloc{",Contain" if with_cgroups else ""}
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=30
MessageTimeout=20
KillWait=2
MinJobAge=300
CompleteWait=0
{_nodes_and_partitions(cluster)}
{_LINE_END.join(shape.conf)}
"""


def _hooks(cluster: Cluster) -> str:
    names = {"prolog": "Prolog", "epilog": "Epilog", "taskprolog": "TaskProlog"}
    return "\n".join(f"{names[hook]}={cluster / 'etc'}/{hook}" for hook in HOOKS)


def _nodes_and_partitions(cluster: Cluster) -> str:
    shape, found = cluster.shape, cluster.surroundings
    # A slurmd without a UTS namespace runs under this machine's name, whatever its node is called.
    host = "" if found.isolation == "namespaces" else f" NodeHostname={found.host}"
    first = found.base_port + _FIRST_NODE_PORT
    gres = f" Gres=gpu{f':{shape.gpu_type}' if shape.gpu_type else ''}:{shape.gpus}" if shape.gpus else ""
    weights = ' TRESBillingWeights="CPU=1.0,Mem=0.1G,GRES/gpu=8.0"' if shape.gpus else ""
    ports = f"[{first}-{first + shape.nodes - 1}]"
    node = f"NodeName={shape.prefix}[1-{shape.nodes}]{host} NodeAddr=127.0.0.1 Port={ports}"
    size = f"Sockets=1 CoresPerSocket={shape.cpus} ThreadsPerCore=1 RealMemory={shape.memory_mib}"
    lines = [
        f"{node} {size}{gres} State=UNKNOWN",
        f"PartitionName=gpu Nodes=ALL Default=YES MaxTime=2-00:00:00 DefaultTime=01:00:00 State=UP{weights}",
        f"PartitionName=debug Nodes={shape.node_names[-1]} MaxTime=00:30:00 DefaultTime=00:05:00 PriorityTier=10",
    ]
    if shape.exclusive_partition:
        lines.append("PartitionName=excl Nodes=ALL OverSubscribe=EXCLUSIVE MaxTime=01:00:00")
    return "\n".join(lines)
