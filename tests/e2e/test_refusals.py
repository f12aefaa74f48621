"""What a hub or an agent refuses: one sentence with the next step on stderr, and no harm to what runs or lies there."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.ledger import Running, fetch, run, until
from tests.fakenvml import child_env, write_scenario
from tests.gpuledger.said import refused, said

Start = Callable[..., Running]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def no_driver(tmp_path: Path) -> dict[str, str]:
    """An environment in which the driver's library cannot be loaded, on a machine with a driver too."""
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"")
    return {"LD_LIBRARY_PATH": str(tmp_path)}


def test_a_second_owner_is_told_the_first_ones_pid(start: Start, data: Path) -> None:
    hub = start("serve", "--data", data, "--port", 0)
    assert hub.address
    sentence = f"The data directory {data} is in use by process {hub.process.pid}; stop it first"
    for command in (("serve", "--port", 0), ("demo", "--port", 0)):
        assert refused(*command, "--data", data).startswith(sentence)
    # The first one was not disturbed: commands still find it by its socket.
    assert refused("report", "--data", data) == (
        "Nothing was recorded yet, so there is no week to report on; start the collector first."
    )
    assert hub.json("/healthz")["status"] == "ok"


def test_a_socket_that_a_killed_hub_left_is_no_hub(start: Start, data: Path) -> None:
    hub = start("serve", "--data", data, "--port", 0)
    assert hub.address
    hub.stop(signal.SIGKILL)
    assert (data / "hub.sock").is_socket()
    assert said("nodes", "--data", data).out == "No node has reported yet.\n"
    again = start("serve", "--data", data, "--port", 0)
    assert again.json("/healthz")["status"] == "ok"
    assert said("nodes", "--data", data).out == "No node has reported yet.\n"
    assert again.stop() == 0
    assert not (data / "hub.sock").exists()


def test_without_a_driver_once_and_doctor_say_so(no_driver: dict[str, str], tmp_path: Path, data: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[collector]\nslurm = "no"\n')
    once = run("collect", "--once", "--config", config, env=no_driver)
    assert (once.returncode, once.stderr) == (1, "")
    last = once.stdout.splitlines()[-1]
    assert last.startswith("problem: there is no NVIDIA driver on this host (libnvidia-ml.so.1 was not found): install")
    assert once.stdout.count("no NVIDIA driver") == 1
    doctor = run("doctor", "--config", config, "--data", data, env=no_driver)
    (line,) = [line for line in doctor.stdout.splitlines() if line.startswith("BAD  driver")]
    assert "there is no NVIDIA driver on this host (libnvidia-ml.so.1 was not found) - install it" in line
    assert (doctor.returncode, doctor.stderr) == (1, "")


def test_without_a_driver_up_shows_the_synthetic_cluster(start: Start, no_driver: dict[str, str], data: Path) -> None:
    assert said("demo", "--nodes", 1, "--gpus", 1, "--days", 1, "--data", data, "--no-serve").code == 0
    up = start("up", "--data", data, "--port", 0, env=no_driver)
    status, page = fetch(up.address + "/api/v1/report?format=text")
    assert (status, b"Synthetic cluster: none of this happened." in page) == (200, True)
    first, second = up.said.splitlines()
    assert first == (
        "Nothing to record: there is no NVIDIA driver on this host (libnvidia-ml.so.1 was not found). "
        "This is a synthetic cluster, marked as such on every page."
    )
    assert second.startswith("GPU Ledger shows a synthetic cluster on http://127.0.0.1:")
    assert up.stop() == 0


def test_a_driver_that_comes_later_is_recorded(start: Start, stand_in: None, tmp_path: Path, data: Path) -> None:
    """The driver's module is not loaded yet when the machine starts: the agent keeps trying."""
    scenario, config = tmp_path / "scenario", tmp_path / "config.toml"
    write_scenario(scenario, "count = 2")
    config.write_text('[collector]\nslurm = "no"\ninterval_s = 1\n')
    arguments = ("up", "--data", data, "--config", config, "--port", 0)
    first = start(*arguments, env=child_env(scenario))
    until("rows", lambda: first.json("/api/v1/nodes")["items"], every_s=0.2)
    assert first.stop() == 0
    write_scenario(scenario, "return.nvmlInit = DRIVER_NOT_LOADED")
    later = start(*arguments, env=child_env(scenario))
    events = until("the problem is told", lambda: kinds(later).count("agent_started") == 2, every_s=0.2)
    assert events
    write_scenario(scenario, "count = 2")
    until("the driver is back", lambda: "driver_back" in kinds(later), every_s=0.5)
    assert later.stop() == 0


def kinds(hub: Running) -> list[str]:
    (node,) = hub.json("/api/v1/nodes")["items"]
    return [event["kind"] for event in hub.json(f"/api/v1/nodes/{node['name']}")["events"]]
