"""What Slurm says, as it travels in a segment: runs as accounting has them, and the queue as slurmctld had it.

None everywhere where Slurm says nothing usable.
"""

from typing import Literal

import msgspec

WaitsFor = Literal["hardware", "limit", "release", "other"]
"""What a pending job waits for, by Slurm's own reason: free nodes or its turn for them; a limit of its QOS, account or
array; a release by somebody or something else (held, a begin time, a dependency); anything else, such as nodes that
are down or reserved. Only the first would begin if GPUs came free."""


class AccountingRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run as Slurm's accounting describes it; None where sacct printed nothing usable."""

    cluster: str
    db_index: int
    job_id_raw: str
    job_id: str  # as people type it: 123, 123_4, 123+1
    state: str
    user: str | None = None
    uid: int | None = None
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    name: str | None = None
    submit_ms: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    elapsed_s: int | None = None
    suspended_s: int | None = None
    timelimit_s: int | None = None  # None: unlimited or not known; see timelimit_unlimited
    timelimit_unlimited: bool = False
    nodes: tuple[str, ...] = ()
    req_gpus: int | None = None
    alloc_gpus: int | None = None
    gpu_type: str | None = None
    alloc_cpus: int | None = None
    req_mem_mib: int | None = None
    max_rss_mib: int | None = None
    cpu_s: float | None = None
    exit_code: str | None = None
    work_dir: str | None = None
    has_batch_step: bool | None = None
    restart: int | None = None


class PendingGpus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the pending jobs of one partition that ask for one type of GPU, or for no type, ask for together."""

    partition: str | None = None  # as submitted: a job may name several, "a,b", and runs in one of them
    gpu_type: str | None = None
    waits_for: str = "hardware"  # a WaitsFor; a later version may know more of them
    jobs: int  # each task of an array is one
    gpus: int


class NodeGpus(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run's GPUs on one node; ``positions`` count in that node's own list of GPUs, None where Slurm tells none."""

    node: str
    positions: tuple[int, ...] | None = None


class LiveRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run that holds GPUs at the moment of a poll: RUNNING, SUSPENDED or COMPLETING."""

    cluster: str
    job_id_raw: str
    job_id: str  # as people type it: 123, 123_4, 123+1
    state: str
    start_ms: int
    restart: int | None = None
    user: str | None = None
    uid: int | None = None
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    name: str | None = None
    submit_ms: int | None = None
    timelimit_s: int | None = None
    timelimit_unlimited: bool = False
    req_gpus: int | None = None
    alloc_gpus: int | None = None
    gpu_type: str | None = None
    places: tuple[NodeGpus, ...] = ()
    turned_ms: int | None = None  # when it was last suspended or, unless it is SUSPENDED, last resumed
    ran_s: int | None = None  # how long it had run, suspensions left out, when it was last suspended
    shared: bool = False  # shards or MPS
    end_ms: int | None = None  # of a COMPLETING one


class QueuePoll(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The queue at one moment. It stands until the next poll, and no longer than ``until_ms``.

    ``runs`` are those of which something is new since an earlier poll: one that is not listed goes on as before. A
    ``whole`` poll lists every live run: one that it does not list is over.
    """

    at_ms: int
    until_ms: int
    pending: tuple[PendingGpus, ...] = ()
    runs: tuple[LiveRun, ...] = ()
    whole: bool = False
    held_gpus: int | None = None  # by all live runs that the poll may see, to compare with what nodes say is in use
