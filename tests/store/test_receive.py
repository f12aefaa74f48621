"""The door for segments, on a real server and a real socket."""

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvicorn

from store import tokens
from store.database import Database
from store.inbox import Inbox
from store.ingest import ingest
from store.receive import PATH, Receiver
from store.segment import encode
from store.tokens import Tokens
from store.turned_away import TurnedAway
from tests.store.building import MINUTE, NOW, T0, hold, segment, steady

GOOD = encode(segment(steady(T0, T0 + MINUTE, 0, 0, util_pct=5), holdings=[hold()]))
NAME = "n1~b0~0000000000"


class Answer(msgspec.Struct):
    status: int
    body: dict[str, str]
    headers: dict[str, str]


class Door:
    """A running receiver and what stands behind it."""

    def __init__(self, directory: Path, database: Database, **limits: int) -> None:
        self.database = database
        with database.cursor() as cursor:
            self.token = tokens.create(cursor, "n1", NOW)
        self.tokens = Tokens(database)
        self.inbox = Inbox(directory, **limits)
        self.turned_away = TurnedAway()
        app = Receiver(
            self.inbox,
            self.tokens,
            synthetic=False,
            turned_away=self.turned_away,
            now_ms=lambda: NOW,
            max_bytes=1 << 20,
        )
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", http="httptools"))
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()

    def post(
        self, body: bytes, *, token: str | None = None, method: str = "POST", path: str = PATH, **headers: str
    ) -> Answer:
        sent = {"Authorization": f"Bearer {self.token if token is None else token}", **headers}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {name: value for name, value in sent.items() if value})
            answer = connection.getresponse()
            return Answer(answer.status, json.loads(answer.read()), {k.lower(): v for k, v in answer.getheaders()})
        finally:
            connection.close()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
        self.inbox.close()


@pytest.fixture
def opened(tmp_path: Path, database: Database) -> Iterator[Callable[..., Door]]:
    doors: list[Door] = []

    def make(**limits: int) -> Door:
        doors.append(Door(tmp_path / "inbox", database, **limits))
        return doors[-1]

    yield make
    for door in doors:
        door.close()


@pytest.fixture
def door(opened: Callable[..., Door]) -> Door:
    return opened()


def test_a_segment_is_acknowledged_once_it_is_on_disk(door: Door, tmp_path: Path) -> None:
    answer = door.post(GOOD)
    assert (answer.status, answer.body) == (200, {"ack": NAME})
    again = Inbox(tmp_path / "inbox")  # what another process would find now
    assert again.take().entries == [(NAME, GOOD)]
    again.close()


def test_delivered_again_it_is_acknowledged_again_and_stored_once(door: Door) -> None:
    assert [door.post(GOOD).status for _ in range(2)] == [200, 200]
    batch = door.inbox.take()
    result = ingest(door.database, batch.entries, NOW)
    assert (result.segments, result.duplicates) == (1, 1)


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer wrong", "Basic bjE6eA==", "Bearer gpl_\xe9"])
def test_without_a_good_token_nothing_is_read(door: Door, authorization: str) -> None:
    answer = door.post(GOOD, Authorization=authorization)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "gpuledger token add" in answer.body["error"]
    assert door.inbox.waiting == 0


def test_a_revoked_token_ends_at_once(door: Door) -> None:
    assert door.post(GOOD).status == 200
    with door.database.cursor() as cursor:
        tokens.revoke(cursor, "n1", NOW)
    door.tokens.forget()
    assert door.post(GOOD).status == 401


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "not a segment"),
        (b"hello, is this thing on?", "does not begin with GPUL"),
        (GOOD[: len(GOOD) // 2], "truncated"),
        (GOOD[:-1] + bytes([GOOD[-1] ^ 1]), "checksum"),
        (GOOD + GOOD, "truncated"),
        (b"GPUL\x63" + GOOD[5:], "upgrade the hub"),
    ],
    ids=["empty", "foreign", "truncated", "damaged", "two", "later-version"],
)
def test_what_is_not_one_whole_segment_is_refused(door: Door, body: bytes, sentence: str) -> None:
    answer = door.post(body)
    assert answer.status == 400
    assert sentence in answer.body["error"]
    assert door.inbox.waiting == 0


def test_synthetic_data_does_not_enter_a_real_store(door: Door) -> None:
    answer = door.post(encode(segment(synthetic=True)))
    assert answer.status == 409
    assert "takes no synthetic segments" in answer.body["error"]


def test_what_is_refused_is_counted_for_the_hubs_own_page(door: Door) -> None:
    """A node with a wrong token knows it, and nobody looks there."""
    assert door.post(GOOD).status == 200
    assert door.post(b"").status == 400  # the doctor tries the token
    assert door.post(GOOD, method="GET").status == 405
    assert door.turned_away.sentence(NOW) == ""
    for _ in range(2):
        door.post(GOOD, token="wrong")
    door.post(GOOD[:99])
    door.post(encode(segment(synthetic=True)))
    door.post(bytes((1 << 20) + 1))
    assert door.turned_away.sentence(NOW) == (
        "Deliveries were refused in the last 10 min: 1 not a whole segment (400) from 127.0.0.1; 2 without a good "
        "token (401) from 127.0.0.1; 1 synthetic where real data is, or the reverse (409) from 127.0.0.1; 1 too large "
        "(413) from 127.0.0.1; run `gpuledger doctor` there."
    )


def test_too_large_is_refused_before_and_while_it_is_read(door: Door) -> None:
    assert door.post(bytes((1 << 20) + 1)).status == 413
    connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=60)
    headers = {"Authorization": f"Bearer {door.token}", "Transfer-Encoding": "chunked"}
    pieces = (bytes(300_000) for _ in range(4))
    connection.request("POST", PATH, pieces, headers, encode_chunked=True)
    answer = connection.getresponse()
    assert answer.status == 413
    assert "1 MiB" in json.loads(answer.read())["error"]
    connection.close()


def test_other_methods_and_paths(door: Door) -> None:
    assert door.post(b"", method="GET").status == 405
    assert door.post(GOOD, path="/api/v1/other").status == 404


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [({"min_free_bytes": 1 << 60}, "No room to write"), ({"max_waiting_bytes": 10}, "wait to be stored")],
    ids=["disk", "backlog"],
)
def test_no_room_is_said_with_when_to_come_again(
    opened: Callable[..., Door], limits: dict[str, int], sentence: str
) -> None:
    answer = opened(**limits).post(GOOD)
    assert (answer.status, answer.headers["retry-after"]) == (503, "60")
    assert sentence in answer.body["error"]


def test_a_client_that_goes_away_leaves_nothing_behind(door: Door) -> None:
    with socket.create_connection(("127.0.0.1", door.port)) as client:
        lines = ("Host: h", f"Authorization: Bearer {door.token}", f"Content-Length: {len(GOOD)}", "", "")
        client.sendall("\r\n".join((f"POST {PATH} HTTP/1.1", *lines)).encode() + GOOD[:100])
    assert door.post(GOOD).status == 200
    assert door.inbox.waiting == 1


def test_whoever_delivers_does_not_wait_for_the_database(door: Door) -> None:
    assert door.post(GOOD).status == 200
    with door.database.cursor() as cursor, cursor.transaction():
        cursor.execute("DELETE FROM hot")
        assert door.post(GOOD).status == 200


def test_many_nodes_at_once(door: Door) -> None:
    statuses: list[int] = []

    def deliver(node: int) -> None:
        statuses.extend(door.post(encode(segment(node=f"n{node}", seq=seq))).status for seq in range(5))

    threads = [threading.Thread(target=deliver, args=(node,)) for node in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert statuses == [200] * 60
    deadline = time.monotonic() + 10
    while door.inbox.waiting < 60 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len({name for name, _ in door.inbox.take().entries}) == 60


def test_a_request_that_is_given_up_ends_no_other(opened: Callable[..., Door]) -> None:
    """They wait for one sync together."""
    door = opened()
    receiver = Receiver(
        door.inbox, door.tokens, synthetic=False, turned_away=door.turned_away, now_ms=lambda: NOW, max_bytes=1 << 20
    )
    sent: list[Any] = []

    async def deliver() -> None:
        async def body() -> dict[str, Any]:
            return {"type": "http.request", "body": GOOD}

        async def answer(message: Any) -> None:
            sent.append(message)

        headers = [(b"authorization", f"Bearer {door.token}".encode())]
        scope = {"type": "http", "path": PATH, "method": "POST", "headers": headers}
        given_up = asyncio.create_task(receiver(scope, body, answer))
        other = asyncio.create_task(receiver(scope, body, answer))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.wait_for(other, 10)
        assert given_up.cancelled()

    asyncio.run(deliver())
    assert [message["status"] for message in sent if "status" in message] == [200]
