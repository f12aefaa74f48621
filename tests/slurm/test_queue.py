"""The queue probe on a real slurmctld: what waits and for what, who holds which GPU, and what a poll costs."""

import re
from collections.abc import Iterator

import pytest

from collector.inventory import Inventory
from collector.probes import Context, build_probes, run_probe
from collector.probes.queue import QueueProbe
from collector.readings import Moment
from collector.settings import CollectorSettings
from store.segment import NodeGpus, QueuePoll
from tests.slurm.running import SlurmCluster

ODD = "a|b\n\x01\udcff größe 模型"
MANY = ",".join(str(task) for task in range(0, 400, 3))  # longer than the 64 letters that Slurm prints by default
_JOB_REQUESTS = re.compile(r"^\s*(REQUEST_\w+)\s+\(\s*\d+\)\s+count:(\d+)", re.MULTILINE)


@pytest.fixture
def probe(slurm_cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> QueueProbe:
    monkeypatch.setenv("SLURM_CONF", slurm_cluster.environment["SLURM_CONF"])
    (found,) = build_probes(Context(CollectorSettings(probes=("queue",)), Inventory(), "login1", "site"))
    assert isinstance(found, QueueProbe)
    return found


@pytest.fixture
def submitted(slurm_cluster: SlurmCluster) -> Iterator[list[int]]:
    jobs: list[int] = []
    yield jobs
    for job in jobs:
        slurm_cluster.as_root("scancel", "--full", str(job))
    for job in jobs:
        slurm_cluster.eventually(lambda job=job: slurm_cluster.state(job) != "RUNNING" or None)


def read(probe: QueueProbe) -> QueuePoll:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SQUEUE_USERS", "nobody")  # as a site may set it for its users
        report, _ = run_probe(probe, Moment.now())
    assert (report.error, report.events) == ("", ())
    (poll,) = report.queue
    return poll


def test_demand_by_what_it_waits_for(slurm_cluster: SlurmCluster, probe: QueueProbe, submitted: list[int]) -> None:
    def submit(*options: str) -> int:
        submitted.append(slurm_cluster.submit("bob", *options, wrap="sleep 600"))
        return submitted[-1]

    there = f"--nodelist={slurm_cluster.nodes[0]}"
    first = submit(there, "--gres=gpu:3")
    slurm_cluster.wait(first, {"RUNNING"})
    submit(there, "--gres=gpu:a100:4")
    submit("--gres=gpu:1", f"--dependency=afterok:{first}")
    submit("--gres=gpu:1", "--begin=now+1hour")
    submit("--gres=gpu:1", "--hold", f"--array={MANY}%2")
    submit()

    def settled() -> QueuePoll | None:
        poll = read(probe)
        return poll if len(poll.pending) == 2 else None

    found = slurm_cluster.eventually(settled)
    demand = {(each.partition, each.gpu_type, each.waits_for): (each.jobs, each.gpus) for each in found.pending}
    assert demand == {("gpu", "a100", "hardware"): (1, 4), ("gpu", None, "release"): (136, 136)}
    assert found.held_gpus == 3


def test_live_runs(slurm_cluster: SlurmCluster, probe: QueueProbe, submitted: list[int]) -> None:
    node = slurm_cluster.nodes[0]
    there = f"--nodelist={node}"
    one = slurm_cluster.submit("alice", there, "--gres=gpu:1", f"--job-name={ODD}", "--time=90", wrap="sleep 600")
    array = slurm_cluster.submit("bob", there, "--array=0", "--gres=gpu:2", wrap="sleep 600")
    submitted += [one, array]
    for job in submitted:
        slurm_cluster.wait(job, {"RUNNING"})
    first, task = sorted(read(probe).runs, key=lambda run: int(run.job_id_raw))
    assert first.name == ODD.encode(errors="surrogateescape").decode(errors="replace")
    assert (first.user, first.account, first.partition, first.state) == ("alice", "physics", "gpu", "RUNNING")
    assert (first.restart, first.timelimit_s, first.alloc_gpus, first.gpu_type) == (0, 5400, 1, "a100")
    assert (first.places, task.places) == ((NodeGpus(node, (0,)),), (NodeGpus(node, (1, 2)),))
    assert (task.job_id, task.user, task.turned_ms) == (f"{array}_0", "bob", None)
    assert abs(first.start_ms - Moment.now().wall_ms) < 120_000
    assert read(probe).runs == ()

    slurm_cluster.as_root("scontrol", "suspend", str(one))
    try:
        (suspended,) = read(probe).runs
    finally:
        slurm_cluster.as_root("scontrol", "resume", str(one))
    assert (suspended.job_id, suspended.state) == (str(one), "SUSPENDED")
    assert suspended.turned_ms is not None
    assert suspended.ran_s == (suspended.turned_ms - suspended.start_ms) // 1000
    (resumed,) = read(probe).runs
    assert (resumed.state, resumed.ran_s) == ("RUNNING", suspended.ran_s)
    assert resumed.turned_ms is not None
    assert resumed.turned_ms >= suspended.turned_ms


def test_a_poll_is_one_request(slurm_cluster: SlurmCluster, probe: QueueProbe) -> None:
    before = _requests(slurm_cluster)
    for _ in range(10):
        read(probe)
    after = _requests(slurm_cluster)
    own = {"REQUEST_STATS_INFO", "REQUEST_JOB_STEP_CREATE"}
    more = {kind: after[kind] - before.get(kind, 0) for kind in after if kind not in own}
    assert {kind: count for kind, count in more.items() if count >= 10} == {"REQUEST_JOB_INFO": 10}


def _requests(cluster: SlurmCluster) -> dict[str, int]:
    return {kind: int(count) for kind, count in _JOB_REQUESTS.findall(cluster.as_root("sdiag"))}
