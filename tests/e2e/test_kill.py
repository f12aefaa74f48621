"""A hub that is killed while it takes in: what it acknowledged is there afterwards, once."""

import contextlib
import http.client
import json
import signal
import threading
import urllib.error
from collections.abc import Callable
from pathlib import Path

from store import samples
from store.database import Database
from tests.e2e.deliveries import ROWS, hand_in, make_token, minute, stored
from tests.e2e.ledger import Running, until

KILLS = 3
SENDERS = 3
EACH_LIFE = 120


class Nodes:
    """Senders that deliver their minutes in order, each the same one again until it is acknowledged."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._next = [0] * SENDERS
        self.acknowledged: list[str] = []
        self._guard = threading.Lock()

    def send_until(self, hub: Running, stop: threading.Event) -> list[threading.Thread]:
        threads = [threading.Thread(target=self._send, args=(hub, number, stop)) for number in range(SENDERS)]
        for thread in threads:
            thread.start()
        return threads

    def _send(self, hub: Running, number: int, stop: threading.Event) -> None:
        with contextlib.suppress(urllib.error.URLError, http.client.HTTPException, OSError):
            while not stop.is_set():
                segment = minute(self._next[number], node=f"n{number}")
                status, said = hand_in(hub, self._token, segment)
                assert (status, json.loads(said)) == (200, {"ack": segment.name})
                self._next[number] += 1
                with self._guard:
                    self.acknowledged.append(segment.name)


def test_what_was_acknowledged_outlives_kills(start: Callable[..., Running], tmp_path: Path) -> None:
    data = tmp_path / "data"
    nodes = Nodes(make_token(data))
    for _ in range(KILLS):
        hub = start("serve", "--data", data, "--port", 0)
        assert hub.address
        stop, before = threading.Event(), len(nodes.acknowledged)
        threads = nodes.send_until(hub, stop)
        until("many are acknowledged", lambda n=before: len(nodes.acknowledged) >= n + EACH_LIFE)
        hub.stop(signal.SIGKILL)
        stop.set()
        for thread in threads:
            thread.join()
    last = start("serve", "--data", data, "--port", 0)
    until("all is stored", lambda: last.json("/api/v1/health")["pending_hours"] == 0)
    assert last.stop() == 0
    found = stored(data)
    assert set(nodes.acknowledged) <= found
    with Database.open(data, read_only=True) as database, database.cursor() as cursor:
        assert samples.count(cursor) == ROWS * len(found)
    # Whoever was cut off in the middle delivers again, and may have been stored already.
    assert len(found) - len(nodes.acknowledged) <= KILLS * SENDERS
    assert "Traceback" not in last.said
