"""A node that is refused is seen at the hub: on the Health page, in the log and among the metrics."""

import http.client
import re
import threading
from pathlib import Path

import pytest
import uvicorn

from analytics.model import Viewer
from analytics.queries.health import RECEIVE, health
from gpuledger.hub import Hub
from gpuledger.settings import HubSettings, Settings
from gpuledger.wiring import clock_ms
from store import tokens
from store.segment import encode
from store.settings import StoreSettings
from tests.store.building import segment


def test_a_wrong_token_is_seen_on_health(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert problem_after(tmp_path, 401, b"x", StoreSettings()) == (
        "Deliveries were refused in the last 10 min: 1 without a good token (401) from 127.0.0.1; "
        "run `gpuledger doctor` there."
    )
    assert "without a good token" in caplog.text


def test_a_disk_without_room_is_seen_on_health(tmp_path: Path) -> None:
    settings = StoreSettings(min_free_mib=1 << 30)
    assert re.fullmatch(
        "Deliveries were refused in the last 10 min: 1 for which there was no room \\(503\\) from 127.0.0.1; "
        f"No room to write in {tmp_path}/inbox \\(.* MiB are kept free\\); free some space there, "
        "nodes will deliver again\\.",
        problem_after(tmp_path, 503, encode(segment()), settings),
    )


def problem_after(data: Path, status: int, body: bytes, settings: StoreSettings) -> str:
    """Delivers to a hub, which answers with the status, and returns what Health then says; 401: by a wrong token."""
    hub = Hub(Settings(hub=HubSettings(port=0), store=settings), data)
    with hub._opened:
        with hub.database.cursor() as cursor:
            token = tokens.create(cursor, "n1", clock_ms())
        hub._tcp.listen()
        server = uvicorn.Server(uvicorn.Config(hub._receiver, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, args=([hub._tcp],))
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=10)
        bearer = {"Authorization": f"Bearer {'wrong' if status == 401 else token}"}
        connection.request("POST", "/api/v1/segments", body, bearer)
        assert connection.getresponse().status == status
        connection.close()
        server.should_exit = True
        thread.join()
        (job,) = [job for job in hub._schedule.jobs if job.name == RECEIVE]
        assert not hub._schedule.runner.run(job).ok
        with hub.database.cursor() as cursor:
            (problem,) = health(cursor, Viewer(), clock_ms()).problems
    return problem
