"""[collector]: what the node daemon reads, where it keeps segments and where it sends them."""

from typing import Annotated, Literal

import msgspec

AtLeast0 = Annotated[float, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0.5, le=3600)]


class CollectorSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[collector]: what the node daemon reads, where segments wait and where they are sent."""

    node: str = ""
    """Name of this node as Slurm knows it; empty: the host name up to its first dot."""
    probes: tuple[str, ...] = ("gpu", "activity", "processes", "host")
    """What is read here. The probes `accounting` (sacct), `cluster` (scontrol, sacctmgr) and `queue` belong on
    one host of the cluster."""
    interval_s: Seconds = 10.0
    """Seconds between two rows of a GPU."""
    gather_when_dry: bool = True
    """Whether utilization is read once a second while the driver's own record has nothing, as it has of an idle GPU;
    without it most of an idle GPU's time counts as not watched."""
    segment_s: Seconds = 60.0
    """Seconds after which the rows gathered are closed as a segment and sent."""
    driver_timeout_s: Seconds = 5.0
    """Seconds to wait for the driver before this reading is given up; a hung call never blocks the daemon."""
    hub: str = "http://127.0.0.1:8050"
    """Address of the hub, http:// or https://."""
    token: str = ""
    """The node's token, where the hub asks for one. Better kept in token_file."""
    token_file: str = ""
    """File whose first line is the token; read again at every connection."""
    ca_file: str = ""
    """PEM file with the certificate authority of the hub; empty: the system's own list."""
    timeout_s: Seconds = 10.0
    """Seconds to wait for the hub's answer."""
    spool_dir: str = "/var/lib/gpuledger/spool"
    """Directory on a local disk that keeps segments until the hub has acknowledged them."""
    spool_max_mib: AtLeast0 = 512.0
    """Most MiB that segments may take; the oldest go first, and how many rows went is recorded."""
    spool_max_age_s: AtLeast0 = 1_209_600.0
    """Most seconds that a segment is kept for a hub that does not answer (14 days)."""
    slurm: Literal["auto", "yes", "no"] = "auto"
    """Whether this host belongs to a Slurm cluster; auto looks for a readable slurm.conf, a
    running slurmd, and --conf-server among its options; where a configless slurmd asks DNS instead, write yes."""
    session_gap_s: AtLeast0 = 600.0
    """Without Slurm: a user's processes on a GPU with a shorter gap between them are one session."""
    dropfile_dir: str = "/run/gpuledger/jobs"
    """Directory into which the Prolog and Epilog hooks write which job holds which GPU."""
    gpustat_dir: str = "/run/gpustat"
    """Directory in which jobstats' Prolog says which job holds which GPU; nothing is read where it does not exist."""
    dcgm_job_dir: str = ""
    """Directory of DCGM exporter's job mapping (--hpc-job-mapping-dir); empty: there is none."""
    cgroup_root: str = "/sys/fs/cgroup"
    """Where the cgroup file system is mounted."""
    slurmd: str = "slurmd"
    """Program that prints Slurm's own list of this node's GPUs (`slurmd -G`), asked once for each start of slurmd."""
    slurm_conf: str = ""
    """Path of slurm.conf, beside which gres.conf lies; empty: as slurmd was started with, else where it mostly is."""
    sacct: str = "sacct"
    """Program that the probe `accounting` asks; a path where it is not on PATH."""
    sacct_every_s: Seconds = 300.0
    """Seconds between two readings of accounting."""
    sacct_timeout_s: Seconds = 120.0
    """Seconds that one call of sacct may take."""
    sacct_overlap_s: AtLeast0 = 3600.0
    """Seconds before the last reading that are asked for again: Slurm delivers late what its database missed."""
    sacct_history_days: AtLeast0 = 1.0
    """Days of accounting that are read at the first start; what no node recorded counts as not measured."""
    squeue: str = "squeue"
    """Program that the probe `queue` asks; a path where it is not on PATH."""
    queue_every_s: Annotated[float, msgspec.Meta(ge=10, le=3600)] = 60.0
    """Seconds between two polls of the queue; each is one question to slurmctld for the whole cluster."""
    queue_timeout_s: Seconds = 30.0
    """Seconds that one call of squeue may take."""
    scontrol: str = "scontrol"
    """Program that the probe `cluster` asks for nodes, partitions and reservations."""
    sacctmgr: str = "sacctmgr"
    """Program that the probe `cluster` asks for accounts; empty: on a cluster without slurmdbd."""
    sreport: str = "sreport"
    """Program that the probe `cluster` asks for what accounts used, for comparison; empty: it is not asked."""
    cluster_every_s: Seconds = 300.0
    """Seconds between two readings of the nodes' states; each costs slurmctld two requests."""
    cluster_timeout_s: Seconds = 60.0
    """Seconds that one call of scontrol, sacctmgr or sreport may take."""
