"""A hub that is killed at any moment keeps what it acknowledged, and takes nothing in twice."""

import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from store import samples, tokens
from store.database import Database
from store.segment import Segment, encode
from tests.soak.plugin import Soak
from tests.store.building import SECOND, names_of, row, segment

pytestmark = pytest.mark.soak

ROWS = 6
START_S, STOP_S = 60, 60
Segments = Iterator[Segment]


@contextmanager
def hub(data: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Yield a hub's process and port once it answers; it is ended by its pid."""
    command = [Path(sys.executable).with_name("gpuledger"), "serve", "--data", data, "--port", "0"]
    with (data.parent / "hub.log").open("a") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=data.parent)
    stuck = threading.Timer(START_S, process.kill)
    stuck.start()
    try:
        assert process.stdout is not None
        ready = next((line for line in process.stdout if "listens on" in line), "")
        stuck.cancel()
        found = re.search(r":(\d+),", ready)
        assert found, (data.parent / "hub.log").read_text()
        yield process, int(found.group(1))
    finally:
        stuck.cancel()
        process.kill()
        process.communicate()


def deliver(port: int, token: str, waiting: Segment) -> str:
    """Post a segment; return its name once it is acknowledged. Raises where the hub went away before."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", "/api/v1/segments", encode(waiting), {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        return waiting.name
    finally:
        connection.close()


def endless(first_ms: int) -> Segments:
    """Yield segments of ROWS rows each, one after the other in time."""
    for seq in count():
        from_ms = first_ms + seq * ROWS * 10 * SECOND
        rows = [row(from_ms + (at + 1) * 10 * SECOND, util_pct=seq % 1000) for at in range(ROWS)]
        yield segment(rows, seq=seq)


def test_nothing_acknowledged_is_lost(soak: Soak, tmp_path: Path) -> None:
    data = tmp_path / "data"
    now_ms = time.time_ns() // 1_000_000
    with Database.open(data) as database, database.cursor() as cursor:
        token = tokens.create(cursor, "node", now_ms)
    segments, waiting, acknowledged = endless(now_ms - 24 * 3600 * SECOND), None, []
    for random in soak.rounds():
        with hub(data) as (process, port):
            end = threading.Timer(random.uniform(0.05, 2), os.kill, (process.pid, signal.SIGKILL))
            end.start()
            while True:
                # As a node does: what was not acknowledged is sent again, to the hub that comes next.
                waiting = waiting or next(segments)
                try:
                    acknowledged.append(deliver(port, token, waiting))
                except (OSError, http.client.HTTPException):
                    break
                waiting = None
            end.join()

    with hub(data) as (process, _):
        process.terminate()
        assert process.wait(STOP_S) == 0
    with Database.open(data) as database, database.cursor() as cursor:
        kept = names_of(cursor)
        rows = samples.count(cursor)
    # One more may have been taken in whose acknowledgement did not arrive.
    assert set(acknowledged) <= kept
    assert len(kept) - len(acknowledged) in {0, 1}
    assert rows == ROWS * len(kept)
