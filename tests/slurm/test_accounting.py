"""The sacct probe on real accounting: names of any bytes, arrays, forced GPUs, and what never ran."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.inventory import Inventory
from collector.probes import Context, build_probes, run_probe
from collector.probes.accounting import AccountingProbe
from collector.readings import Moment
from collector.settings import CollectorSettings
from store.segment import AccountingRun
from tests.slurm.running import SlurmCluster

ODD = 'a|b\tc\n\x01\x1f"q" {x=1};$HOME größe-模型-🚀'


@pytest.fixture
def probe(slurm_cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AccountingProbe:
    monkeypatch.setenv("SLURM_CONF", slurm_cluster.environment["SLURM_CONF"])
    settings = CollectorSettings(probes=("accounting",), spool_dir=str(tmp_path))
    (found,) = build_probes(Context(settings, Inventory(), "login1", "site"))
    assert isinstance(found, AccountingProbe)
    return found


@pytest.fixture
def pending(slurm_cluster: SlurmCluster) -> Iterator[int]:
    job = slurm_cluster.submit("bob", "--gres=gpu:1", "--begin=now+1hour", wrap="true")
    yield job
    slurm_cluster.as_root("scancel", str(job))


def test_jobs_as_they_were(slurm_cluster: SlurmCluster, probe: AccountingProbe, pending: int) -> None:
    node = slurm_cluster.nodes[0]
    cancelled = slurm_cluster.submit("bob", "--gres=gpu:1", "--hold", wrap="true")
    slurm_cluster.as_user("bob", "scancel", str(cancelled))
    with pytest.raises(RuntimeError):  # more GPUs than any node has
        slurm_cluster.submit("bob", "--gres=gpu:8", wrap="true")
    odd = slurm_cluster.submit(
        "alice", f"--nodelist={node}", "--gres=gpu:2", f"--job-name={ODD}", f"--comment={ODD}", wrap="srun sleep 1"
    )
    array = slurm_cluster.submit("bob", "--array=0-1", "--gres=gpu:1", "--time=2:00:00", wrap="sleep 1; exit 3")
    whole = slurm_cluster.submit("alice", "--exclusive", "--mem=600M", wrap="sleep 1")
    cpu_only = slurm_cluster.submit("alice", wrap="sleep 1")
    shown = {str(odd), f"{array}_0", f"{array}_1", str(whole)}
    for job in (odd, array, whole, cpu_only):
        slurm_cluster.wait(job, timeout_s=90)

    known: dict[str, AccountingRun] = {}

    def read() -> dict[str, AccountingRun] | None:
        report, _ = run_probe(probe, Moment.now())
        assert (report.error, report.events) == ("", ())
        known.update({run.job_id: run for run in report.accounting})
        ended = {job_id for job_id, run in known.items() if run.end_ms is not None}
        # What the steps used reaches the database after the end.
        return known if shown <= ended and known[str(odd)].cpu_s is not None else None

    runs = slurm_cluster.eventually(read, timeout_s=30)
    assert not {str(pending), str(cancelled), str(cpu_only)} & runs.keys()
    assert all(run.alloc_gpus for run in runs.values())

    run = runs[str(odd)]
    assert run.name == ODD.replace('"', "`")  # Slurm's own doing
    assert (run.user, run.account, run.partition, run.qos) == ("alice", "physics", "gpu", "normal")
    assert (run.state, run.exit_code, run.alloc_gpus, run.req_gpus, run.gpu_type) == ("COMPLETED", "0:0", 2, 2, "a100")
    assert (run.nodes, run.timelimit_s, run.has_batch_step) == ((node,), 3600, True)
    assert run.start_ms is not None
    assert run.end_ms is not None
    assert run.elapsed_s == (run.end_ms - run.start_ms) // 1000 >= 1
    assert run.max_rss_mib is not None

    for task in ("0", "1"):
        run = runs[f"{array}_{task}"]
        assert (run.state, run.exit_code, run.user, run.timelimit_s) == ("FAILED", "3:0", "bob", 7200)
    assert runs[f"{array}_0"].job_id_raw != runs[f"{array}_1"].job_id_raw

    run = runs[str(whole)]
    assert (run.alloc_gpus, run.req_gpus, run.req_mem_mib) == (4, 0, 600)
