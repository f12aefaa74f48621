"""Full disks, for real: what was acknowledged is stored once there is room, and who is turned away is told why."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from store.segment import decode
from tests.e2e.deliveries import hand_in, minute, stored
from tests.e2e.ledger import Running, fetch, until, write_config
from tests.e2e.small_disk import SmallDisk
from tests.fakenvml import child_env, write_scenario


@pytest.fixture
def disk(mounts: None, tmp_path: Path) -> Iterator[Callable[[int], SmallDisk]]:
    """Makes a small disk."""
    made: list[SmallDisk] = []

    def make(size_mib: int) -> SmallDisk:
        made.append(SmallDisk(tmp_path / "disk", size_mib))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts commands on a small disk; each is ended when the test is."""
    running: list[Running] = []

    def started(disk: SmallDisk, *arguments: object, **how: object) -> Running:
        running.append(disk.running(tmp_path / f"log-{len(running)}", *arguments, **how))
        return running[-1]

    yield started
    for each in running:
        each.end()


def test_below_the_reserve_segments_wait_at_their_nodes(
    disk: Callable[[int], SmallDisk], on: Callable[..., Running], tmp_path: Path
) -> None:
    small = disk(64)
    token = small.run("token", "add", "nodes", "--data", small.path).strip()
    config = write_config(tmp_path / "config.toml", store={"min_free_mib": 16})
    hub = on(small, "serve", "--config", config, "--data", small.path, "--port", 0)
    assert hand_in(hub, token, minute(0))[0] == 200
    small.fill(leave_kib=8 << 10)
    status, said = hand_in(hub, token, minute(1))
    assert status == 503
    assert re.fullmatch(
        f"No room to write in {small.path}/inbox \\([0-9]+ MiB free, 16 MiB are kept free\\); free some space there, "
        "nodes will deliver again\\.",
        json.loads(said)["error"],
    )
    assert fetch(hub.address + "/")[0] == 200  # pages go on
    small.clear()
    assert hand_in(hub, token, minute(1))[0] == 200
    assert hub.stop() == 0
    assert sorted(stored(small.copied_to(tmp_path / "copy"))) == [minute(0).name, minute(1).name]


def test_a_disk_that_is_full_to_the_last_byte_loses_nothing(
    disk: Callable[[int], SmallDisk], on: Callable[..., Running], tmp_path: Path
) -> None:
    small = disk(64)
    token = small.run("token", "add", "nodes", "--data", small.path).strip()
    config = write_config(tmp_path / "config.toml", store={"min_free_mib": 0})
    arguments = ("serve", "--config", config, "--data", small.path, "--port", 0)
    hub = on(small, *arguments)
    assert hand_in(hub, token, minute(0))[0] == 200
    until("it is stored", lambda: hub.json("/api/v1/nodes")["items"])
    small.fill(leave_kib=64)
    acknowledged = [minute(0).name]
    for seq in range(1, 400):
        if hub.process.poll() is not None:
            break
        try:
            status, said = hand_in(hub, token, minute(seq))
        except OSError:
            break  # the database stopped, and so the hub ended
        if status != 200:
            assert status == 503
            assert "No room to write in" in json.loads(said)["error"]
            break
        acknowledged.append(minute(seq).name)
    until("storing meets the full disk", lambda: "No room to write in" in hub.said or hub.process.poll() is not None)
    small.resize(128)
    # Where the database itself gave up the hub ended with the sentence, for systemd to start it again.
    again = on(small, *arguments) if hub.process.poll() is not None else hub
    assert hand_in(again, token, minute(1000))[0] == 200
    until("all is stored", lambda: list((small.root / "inbox").iterdir()) == [])
    assert "Traceback" not in hub.said + again.said
    assert again.stop() == 0
    found = stored(small.copied_to(tmp_path / "copy"))
    assert {*acknowledged, minute(1000).name} <= found


def test_a_spool_on_a_full_disk_waits_in_memory(
    disk: Callable[[int], SmallDisk], on: Callable[..., Running], stand_in: None, tmp_path: Path
) -> None:
    small = disk(4)
    scenario = tmp_path / "scenario"
    write_scenario(scenario, "count = 2")
    collector = {
        "node": "n1", "slurm": "no", "interval_s": 0.5, "segment_s": 0.5, "spool_dir": str(small.path),
        "hub": "http://127.0.0.1:9",
    }  # fmt: skip
    config = write_config(tmp_path / "collect.toml", collector=collector)
    agent = on(small, "collect", "--config", config, env=child_env(scenario))
    until("the first segments are there", lambda: len(kept(small)) >= 2)
    small.fill(leave_kib=0)
    until("it says so", lambda: "takes no segment: No space left on device" in agent.said)
    on_disk = len(kept(small))
    small.clear()
    until("what waited is written", lambda: len(kept(small)) >= on_disk + 2)
    assert agent.stop() == 0
    segments = sorted((decode(path.read_bytes()) for path in kept(small)), key=lambda one: one.seq)
    assert [one.seq for one in segments] == list(range(len(segments)))
    assert "spool_full" in {event.kind for one in segments for event in one.events}
    assert agent.said.count("takes no segment") == 1


def kept(disk: SmallDisk) -> list[Path]:
    return list(disk.root.glob("*.segment"))
