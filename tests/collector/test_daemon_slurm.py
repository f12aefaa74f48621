"""The daemon on a Slurm node and on the host that reads accounting: real hooks, stand-in GPUs, a hub that listens."""

import subprocess
import threading
import time
from pathlib import Path

import pytest

from collector.runner import run, run_once
from collector.settings import CollectorSettings
from store.segment import decode
from tests.collector.hub import Hub
from tests.collector.sacct_program import SacctProgram
from tests.collector.slurmd_program import Slurmd

HOOKS = Path(__file__).parents[2] / "deploy" / "hooks"


@pytest.fixture
def hub():
    running = Hub()
    yield running
    running.stop()


@pytest.fixture
def settings(tmp_path, hub):
    slurmd = Slurmd(tmp_path / "slurmd")
    return {
        "node": "n1",
        "hub": hub.url,
        "spool_dir": str(tmp_path / "spool"),
        "dropfile_dir": str(tmp_path / "jobs"),
        "cgroup_root": str(tmp_path / "cgroup"),
        "slurmd": str(slurmd.program),
        "slurm_conf": str(slurmd.config),
        "slurm": "yes",
        "interval_s": 0.5,
        "segment_s": 3600,
    }


@pytest.fixture
def daemon():
    """Starts a daemon in this process; stops it and waits."""
    stop = threading.Event()
    threads = []

    def start(**settings):
        threads.append(
            threading.Thread(
                target=run,
                args=(CollectorSettings(**settings),),
                kwargs={"cluster": "c", "version": "0.1", "stop": stop},
            )
        )
        threads[-1].start()

    def end():
        stop.set()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()

    start.end = end
    yield start
    end()


def hook(name, folder, **environment):
    told = {
        "SLURM_JOB_ID": "12",
        "SLURM_JOB_GPUS": "1",
        "SLURM_JOB_USER": "alice",
        "GPULEDGER_DROPFILE_DIR": str(folder),
    }
    subprocess.run(["sh", HOOKS / name], env=told | environment, check=True, timeout=20)


def until(probe, timeout_s=20):
    deadline_s = time.monotonic() + timeout_s
    while not (found := probe()):
        assert time.monotonic() < deadline_s, "it did not happen"
        time.sleep(0.02)
    return found


def holdings(hub):
    """Every hold that the hub was told of."""
    return [holding for body in list(hub.bodies) for holding in decode(body).holdings]


def test_segments_are_closed_where_a_job_begins_and_ends(fake_nvml, hub, daemon, settings, tmp_path):
    fake_nvml.write("count=2")
    daemon(**settings)
    hub.wait_for(1)
    hook("prolog", tmp_path / "jobs")
    until(lambda: len(hub.bodies) == 2)
    hook("epilog", tmp_path / "jobs")
    until(lambda: len(hub.bodies) == 3)
    before, during = (decode(body) for body in hub.bodies[1:3])
    assert before.holdings == ()
    (held,) = during.holdings
    assert (held.job_id, held.user, held.devices, held.source, held.cluster) == ("12", "alice", (1,), "hook", "c")
    assert held.end_ms is not None
    assert during.samples.rows >= 2, "the look that noticed the end is a reading, too"
    assert before.slurm
    until(lambda: list((tmp_path / "jobs").iterdir()) == [])
    daemon.end()
    assert [holding for holding in holdings(hub) if holding.end_ms is None] == []


def test_a_reading_for_a_person_shows_the_job_and_leaves_its_end_to_the_daemon(fake_nvml, settings, tmp_path):
    fake_nvml.write("count=2")
    hook("prolog", tmp_path / "jobs")
    assert [holding.job_id for holding in run_once(CollectorSettings(**settings), cluster="c").holdings] == ["12"]
    hook("epilog", tmp_path / "jobs")
    run_once(CollectorSettings(**settings), cluster="c")
    assert [path.name for path in (tmp_path / "jobs").iterdir()] == ["12.0.end"]


def test_the_host_that_reads_accounting_needs_no_gpu(hub, daemon, settings, tmp_path):
    program = SacctProgram(tmp_path)
    now_s = int(time.time())
    program.run(27, now_s - 600, now_s - 300)
    daemon(**settings | {"probes": ("accounting",), "segment_s": 0.5, "sacct": str(program.path)})
    until(lambda: any(decode(body).accounting for body in list(hub.bodies)), 30)
    told = [decode(body) for body in hub.bodies]
    assert [row.db_index for segment in told for row in segment.accounting] == [27]
    assert {segment.samples.rows for segment in told} == {0}
    assert [error for segment in told for probe in segment.probes if (error := probe.error)] == []


def test_a_host_whose_sacct_hangs_goes_on(fake_nvml, hub, daemon, settings, tmp_path):
    fake_nvml.write("count=1")
    program = SacctProgram(tmp_path)
    program.trouble("import time; time.sleep(600)")
    daemon(
        **settings
        | {"probes": ("gpu", "accounting"), "segment_s": 0.5, "sacct": str(program.path), "sacct_timeout_s": 1.0}
    )

    def said():
        found = [probe for body in list(hub.bodies) for probe in decode(body).probes]
        return [probe.error for probe in found if probe.probe == "accounting" and not probe.ok]

    assert "has not answered within 1 s" in until(said)[0]
    assert sum(decode(body).samples.rows for body in list(hub.bodies)) >= 2
