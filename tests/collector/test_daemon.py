"""The daemon as a process of its own, on the stand-in library, with a real hub to talk to."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from collector.once import lines
from collector.runner import run, run_once
from collector.settings import CollectorSettings
from collector.spool import SpoolBusy
from store.segment import decode
from tests.collector.hub import Hub
from tests.collector.test_segmenter import column
from tests.fakenvml import child_env, write_scenario

ROOT = Path(__file__).parents[2]
CHILD = """
import msgspec, sys
from collector.runner import run
from collector.settings import CollectorSettings
run(msgspec.json.decode(sys.argv[1], type=CollectorSettings), cluster="c", version="0.1")
loaded = {"numpy", "pyarrow", "duckdb", "dash", "uvicorn", "analytics", "dashboard", "gpuledger"} & set(sys.modules)
sys.exit(f"a node does not need {loaded}" if loaded else 0)
"""


@pytest.fixture
def hub():
    running = Hub()
    yield running
    running.stop()


@pytest.fixture
def daemon(tmp_path, hub):
    """Starts daemons; their first rows come within a second. Ends those it started."""
    started = []

    def start(scenario="count=2\n", environment=None, **settings):
        write_scenario(tmp_path / "scenario", scenario)
        chosen = {"node": "n1", "hub": hub.url, "spool_dir": str(tmp_path / "spool"), "slurm": "no", "interval_s": 0.5}
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", CHILD, msgspec.json.encode(chosen | settings).decode()],
                cwd=ROOT,
                env=os.environ | child_env(tmp_path / "scenario") | (environment or {}),
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def stop(process, number=signal.SIGTERM):
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    return process.returncode, said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_delivers_at_once_and_flushes_when_asked_to_stop(daemon, hub, tmp_path, number):
    process = daemon(segment_s=3600)
    hub.wait_for(1, 20)
    assert stop(process, number) == (0, "")
    first, last = (decode(body) for body in hub.bodies)
    assert (first.node, first.seq, last.seq, first.boot_id) == ("n1", 0, 1, last.boot_id)
    assert first.samples.rows == 2
    assert [event.kind for event in last.events] == ["agent_stopped"]
    assert column(last.samples, "ts_ms")[-1] == last.last_ms
    assert list((tmp_path / "spool").glob("*.segment")) == []


def test_a_driver_that_hangs_does_not_hold_it_up(daemon, hub, tmp_path):
    process = daemon(driver_timeout_s=0.5, segment_s=0.5)
    hub.wait_for(2, 20)
    write_scenario(tmp_path / "scenario", "count=2\nlatency_us.nvmlDeviceGetPowerUsage = 60000000\n")
    deadline = time.monotonic() + 20
    while all(run.ok for run in decode(hub.bodies[-1]).probes):
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)
    assert stop(process)[0] == 0
    assert decode(hub.bodies[-1]).events[-1].kind == "agent_stopped"


def test_without_a_hub_it_keeps_everything_and_says_so_once(daemon, tmp_path):
    process = daemon(hub="http://127.0.0.1:9", segment_s=0.5)
    deadline = time.monotonic() + 20
    while len(list((tmp_path / "spool").glob("*.segment"))) < 3:
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)
    code, said = stop(process)
    assert code == 0
    assert said.count("does not answer") == 1
    assert len(said.splitlines()) == 1
    kept = sorted((tmp_path / "spool").glob("*.segment"))
    assert [decode(path.read_bytes()).seq for path in kept] == list(range(len(kept)))


def test_a_daemon_that_was_killed_loses_only_the_segment_in_the_making(daemon, hub, tmp_path):
    process = daemon(hub="http://127.0.0.1:9", segment_s=0.5)
    deadline = time.monotonic() + 20
    while len(kept := list((tmp_path / "spool").glob("*.segment"))) < 3:
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)
    process.kill()
    process.wait()
    daemon(segment_s=3600)
    delivered = [decode(body) for body in hub.wait_for(len(kept) + 1, 20)]
    assert {path.stem for path in kept} <= {segment.name for segment in delivered}


def test_a_second_daemon_on_the_same_spool_names_the_first(daemon, hub, tmp_path):
    process = daemon()
    hub.wait_for(1, 20)
    with pytest.raises(SpoolBusy, match=f"PID {process.pid}"):
        run(CollectorSettings(spool_dir=str(tmp_path / "spool")), cluster="c", version="0.1", stop=threading.Event())


def test_systemd_hears_when_it_is_ready_alive_and_stopping(daemon, hub, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20)
        process = daemon(environment={"NOTIFY_SOCKET": str(tmp_path / "notify")})
        assert [manager.recv(100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        process.terminate()
        while manager.recv(100) != b"STOPPING=1":
            pass
    assert process.wait(20) == 0


def test_it_runs_as_a_thread_beside_a_hub_too(fake_nvml, hub, tmp_path):
    fake_nvml.write("count=1\n")
    stopped = threading.Event()
    settings = CollectorSettings(
        node="n1", hub=hub.url, spool_dir=str(tmp_path / "spool"), slurm="no", interval_s=0.5, segment_s=0.5
    )
    thread = threading.Thread(target=run, args=(settings,), kwargs={"cluster": "c", "version": "0.1", "stop": stopped})
    thread.start()
    hub.wait_for(2, 20)
    stopped.set()
    thread.join(20)
    assert not thread.is_alive()
    assert decode(hub.bodies[-1]).events[-1].kind == "agent_stopped"


def test_once_shows_every_reading_with_its_unit_or_the_reason(fake_nvml):
    fake_nvml.write(
        "count=2\ngpu.0.util_gpu=40\ngpu.0.proc.0 = pid=self type=C mem=10GiB\n"
        "gpu.*.return.nvmlDeviceGetPowerUsage = NOT_SUPPORTED\n"
    )
    once = run_once(CollectorSettings(node="n1", slurm="no"), cluster="c")
    first = {reading.metric: reading for reading in once.devices[0].readings}
    assert first["util_pct"].value == pytest.approx(40)
    assert (first["power_w"].value, first["power_w"].reason) == (
        None,
        "the driver or device does not offer this reading",
    )
    assert once.devices[0].processes[0].pid == os.getpid()
    assert [holding.kind for holding in once.holdings] == ["session"]
    text = "\n".join(lines(once))
    assert "Utilization                    40 %" in text
    assert "Power                          unknown: the driver or device does not offer this reading" in text
    assert msgspec.json.encode(once)


def test_once_without_a_driver_is_one_sentence(fake_nvml):
    fake_nvml.write("return.nvmlInit = DRIVER_NOT_LOADED\n")
    once = run_once(CollectorSettings(node="n1", slurm="no"), cluster="c")
    assert once.devices == ()
    assert len(once.problems) == 1
    assert "nvidia-smi" in lines(once)[-1]
