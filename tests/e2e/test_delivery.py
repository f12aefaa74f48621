"""From the agent to the hub when something is wrong on the way: what was measured arrives, once, without a gap."""

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from store.database import Database
from store.segment import encode
from tests.e2e.deliveries import hand_in, make_token, minute, stored
from tests.e2e.ledger import Running, fetch, until, write_config
from tests.fakenvml import child_env, write_scenario

Start = Callable[..., Running]
INTERVAL_S = 0.5


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def collect(start: Start, stand_in: None, tmp_path: Path, spool: Path) -> Callable[..., Running]:
    """Starts an agent on two stand-in GPUs that delivers to a port of this machine."""
    write_scenario(tmp_path / "scenario", "count = 2")
    (tmp_path / "token").write_text("")

    def started(port: int) -> Running:
        collector = {
            "node": "n1", "slurm": "no", "interval_s": INTERVAL_S, "segment_s": 1, "spool_dir": str(spool),
            "token_file": str(tmp_path / "token"), "hub": f"http://127.0.0.1:{port}",
        }  # fmt: skip
        config = write_config(tmp_path / "collect.toml", collector=collector)
        return start("collect", "--config", config, env=child_env(tmp_path / "scenario"))

    return started


def waiting(spool: Path) -> list[str]:
    return [path.stem for path in spool.glob("*.segment")]


def port_of(hub: Running) -> int:
    return int(hub.address.rpartition(":")[2])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


def gaps_ms(data: Path) -> list[int]:
    """Returns by how much each row of a GPU begins after the one before it ended."""
    with Database.open(data, read_only=True) as database, database.cursor() as cursor:
        found = cursor.tuples("""
            SELECT ts_ms - span_ms - lag(ts_ms) OVER (PARTITION BY gpu_key ORDER BY ts_ms) FROM hot
            QUALIFY lag(ts_ms) OVER (PARTITION BY gpu_key ORDER BY ts_ms) IS NOT NULL""")
    return [gap for (gap,) in found]


def test_an_agent_with_a_wrong_token_keeps_everything(
    start: Start, collect: Callable[..., Running], data: Path, spool: Path, tmp_path: Path
) -> None:
    token = make_token(data)
    hub = start("serve", "--data", data, "--port", 0)
    (tmp_path / "token").write_text("gpl_wrong\n")
    agent = collect(port_of(hub))
    until("three segments wait", lambda: len(waiting(spool)) >= 3)
    assert agent.stop() == 0
    assert agent.said.count("\n") == 1
    assert (
        f"the hub {hub.address} does not accept this node's token (401); put the token that the hub lists for this "
        "node into collector.token_file. Segments wait in the spool"
    ) in agent.said
    assert hand_in(hub, "gpl_wrong", minute(0)) == (401, refusal_of(hub))
    kept = waiting(spool)
    (tmp_path / "token").write_text(token + "\n")
    again = collect(port_of(hub))
    until("the spool is empty", lambda: waiting(spool) == [])
    assert again.stop() == 0
    assert hub.stop() == 0
    assert set(kept) < stored(data)


def refusal_of(hub: Running) -> bytes:
    """Returns what a hub says to a token that it does not know: the same as to none."""
    status, said = fetch(f"{hub.address}/api/v1/segments", b"")
    assert (status, "gpuledger token add" in json.loads(said)["error"]) == (401, True)
    return said


def test_a_hub_that_was_down_gets_the_backlog_without_a_gap(
    start: Start, collect: Callable[..., Running], data: Path, spool: Path, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(make_token(data))
    port = free_port()
    agent = collect(port)
    until("segments wait", lambda: len(waiting(spool)) >= 2)
    hub = start("serve", "--data", data, "--port", port)
    until("the backlog has arrived", lambda: waiting(spool) == [])
    assert hub.stop() == 0  # and once more, while the agent goes on
    until("segments wait again", lambda: len(waiting(spool)) >= 2)
    hub = start("serve", "--data", data, "--port", port)
    until("they have arrived, too", lambda: waiting(spool) == [])
    assert agent.stop() == 0
    assert hub.stop() == 0
    names = sorted(stored(data))
    assert len({name.rpartition("-")[0] for name in names}) == 1
    assert max(gaps_ms(data)) <= 1
    outages = [line for line in agent.said.splitlines() if "does not answer" in line]
    assert len(outages) == 2
    assert agent.said.count("takes segments again") == 2


@pytest.fixture
def hub(start: Start, data: Path) -> tuple[Running, str]:
    token = make_token(data)
    return start("serve", "--data", data, "--port", 0), token


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (encode(minute(0))[:-20], 400, "truncated"),
        (encode(minute(0))[:9], 400, "truncated"),
        (b"PK\x03\x04 something else", 400, "not a segment"),
        (b"", 400, "not a segment"),
        (encode(minute(0))[:-1] + b"\x00", 400, "damaged"),
        (
            encode(minute(0, synthetic=True)),
            409,
            "This hub holds real data and takes no synthetic segments; deliver to",
        ),
    ],
    ids=["cut", "head cut", "foreign", "empty", "damaged", "synthetic"],
)
def test_what_is_no_segment_for_this_hub_is_refused_in_a_sentence(
    hub: tuple[Running, str], data: Path, body: bytes, status: int, sentence: str
) -> None:
    running, token = hub
    found, said = hand_in(running, token, body)
    error = json.loads(said)["error"]
    assert (found, sentence in error) == (status, True), error
    assert error.count("\n") == 0
    assert hand_in(running, token, minute(1))[0] == 200
    assert running.stop() == 0
    assert list(stored(data)) == [minute(1).name]


def test_what_can_never_be_delivered_is_put_aside_with_the_reason(
    start: Start, collect: Callable[..., Running], data: Path, spool: Path, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(make_token(data))
    hub = start("serve", "--data", data, "--port", 0)
    spool.mkdir()
    synthetic, good = minute(0, synthetic=True), minute(1)
    before_s = time.time() - 60
    for number, (name, body) in enumerate(
        [(synthetic.name, encode(synthetic)), ("cut", encode(minute(2))[:-9]), (good.name, encode(good))]
    ):
        path = spool / f"{name}.segment"
        path.write_bytes(body)
        os.utime(path, (before_s + number, before_s + number))  # the oldest goes first
    agent = collect(port_of(hub))
    until("the good one and the agent's own have arrived", lambda: waiting(spool) == [])
    assert agent.stop() == 0
    assert hub.stop() == 0
    assert good.name in stored(data)
    reasons = {path.stem: path.read_text() for path in (spool / "refused").glob("*.txt")}
    assert reasons.keys() == {synthetic.name, "cut"}
    assert "the hub refused it (409): " in reasons[synthetic.name]
    assert "takes no synthetic segments" in reasons[synthetic.name]
    assert "truncated" in reasons["cut"]
    assert (spool / "refused" / f"{synthetic.name}.segment").read_bytes() == encode(synthetic)


def test_delivered_twice_it_is_stored_once(hub: tuple[Running, str], data: Path) -> None:
    running, token = hub
    answers: list[Any] = [hand_in(running, token, minute(seq)) for seq in (0, 1, 0, 1, 0)]
    assert {status for status, _ in answers} == {200}
    assert json.loads(answers[0][1]) == {"ack": minute(0).name}
    assert running.stop() == 0
    assert sorted(stored(data)) == [minute(0).name, minute(1).name]
