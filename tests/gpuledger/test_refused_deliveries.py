"""A node that is refused is seen at the hub: on the Health page, in the log and among the metrics."""

import http.client
import threading
from pathlib import Path

import pytest
import uvicorn

from analytics.model import Viewer
from analytics.queries.health import RECEIVE, health
from gpuledger.hub import Hub
from gpuledger.settings import HubSettings, Settings
from gpuledger.wiring import clock_ms


def test_a_wrong_token_is_seen_on_health(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    hub = Hub(Settings(hub=HubSettings(port=0)), tmp_path)
    with hub._opened:
        hub._tcp.listen()
        server = uvicorn.Server(uvicorn.Config(hub._receiver, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, args=([hub._tcp],))
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=10)
        connection.request("POST", "/api/v1/segments", b"x", {"Authorization": "Bearer wrong"})
        assert connection.getresponse().status == 401
        connection.close()
        server.should_exit = True
        thread.join()
        (job,) = [job for job in hub._schedule.jobs if job.name == RECEIVE]
        assert not hub._schedule.runner.run(job).ok
        with hub.database.cursor() as cursor:
            (problem,) = health(cursor, Viewer(), clock_ms()).problems
    assert problem == (
        "Deliveries were refused in the last 10 min: 1 without a good token (401) from 127.0.0.1; "
        "run `gpuledger doctor` there."
    )
    assert "without a good token" in caplog.text
