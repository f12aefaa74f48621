"""Many large bodies at once, on real connections: memory is bounded, and who does not fit in is told when to come."""

import http.client
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.receive import PATH
from store.segment import encode
from tests.e2e.ledger import until
from tests.store.building import segment

ROOM_MIB = 32
BODY = 8 << 20
CLIENTS = 40

CHILD = """
import socket, sys
from pathlib import Path
import uvicorn
from store import tokens
from store.database import Database
from store.inbox import Inbox
from store.receive import Receiver
from store.room import Room
from store.tokens import Tokens
from store.turned_away import TurnedAway

data = Path(sys.argv[1])
database = Database.open(data)
with database.cursor() as cursor:
    token = tokens.create(cursor, "n1", 0)
inbox = Inbox(data / "inbox", min_free_bytes=0)
app = Receiver(inbox, Tokens(database), synthetic=False, turned_away=TurnedAway(), now_ms=lambda: 0,
               room=Room(int(sys.argv[2]) << 20))
door = socket.create_server(("127.0.0.1", 0), backlog=100)
print(door.getsockname()[1], token, flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", http="httptools")).run([door])
"""


class Door:
    """A receiver in a process of its own."""

    def __init__(self, data: Path) -> None:
        command = [sys.executable, "-c", CHILD, str(data), str(ROOM_MIB)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        port, self.token = self.process.stdout.readline().split()
        self.port = int(port)

    @property
    def peak_mib(self) -> float:
        """The most memory that the process has had at any time."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM")]
        return int(peak) / 1024

    def connect(self, length: int) -> socket.socket:
        """Announces a segment of ``length`` bytes."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {self.token}\r\nContent-Length: {length}\r\n\r\n"
        )
        client.sendall(head.encode())
        return client

    def post(self, body: bytes) -> tuple[int, str | None]:
        with self.connect(len(body)) as client:
            client.sendall(body)
            return answer(client)

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate()


def answer(client: socket.socket) -> tuple[int, str | None]:
    found = http.client.HTTPResponse(client)
    found.begin()
    found.read()
    return found.status, found.headers["Retry-After"]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    opened = Door(tmp_path / "data")
    yield opened
    opened.close()


def test_ten_times_the_room_does_not_take_more_than_the_room(door: Door) -> None:
    good = encode(segment())
    assert door.post(good) == (200, None)
    before_mib = door.peak_mib
    halfway = threading.Barrier(CLIENTS)
    answers: Counter[tuple[int, str | None]] = Counter()

    def deliver() -> None:
        with door.connect(BODY) as client:
            client.sendall(bytes(BODY // 2))
            halfway.wait(60)
            client.sendall(bytes(BODY // 2))
            answers[answer(client)] += 1

    threads = [threading.Thread(target=deliver) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Zeros are no segment: those that were read to the end are refused for that.
    assert answers == {(400, None): ROOM_MIB * (1 << 20) // BODY, (503, "60"): CLIENTS - ROOM_MIB * (1 << 20) // BODY}
    assert door.peak_mib - before_mib < 2 * ROOM_MIB
    assert door.post(good) == (200, None)


def test_a_slow_sender_keeps_its_share_until_it_goes(door: Door) -> None:
    good = encode(segment())
    slow = [door.connect(BODY) for _ in range(ROOM_MIB * (1 << 20) // BODY)]
    for client in slow:
        client.sendall(b"GPUL")
    until("all of the room is taken", lambda: door.post(good) == (503, "60"))
    slow.pop().close()
    until("its share is free", lambda: door.post(good) == (200, None))
    for client in slow:
        client.close()


def test_what_does_not_say_how_long_it_is_takes_its_share_as_it_comes(door: Door) -> None:
    slow = [door.connect(BODY) for _ in range(ROOM_MIB * (1 << 20) // BODY - 1)]
    connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=60)
    headers = {"Authorization": f"Bearer {door.token}", "Transfer-Encoding": "chunked"}
    pieces = (bytes(1 << 20) for _ in range(12))
    connection.request("POST", PATH, pieces, headers, encode_chunked=True)
    assert connection.getresponse().status == 503
    connection.close()
    for client in slow:
        client.close()
