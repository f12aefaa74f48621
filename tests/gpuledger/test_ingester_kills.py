"""A kill at each step of the ingester, and at any moment inside: every segment is stored once, and all sums agree."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuledger.wiring import clock_ms
from store.database import Database
from store.inbox import Inbox
from store.ingest import ingest
from store.rollup import roll_up
from store.segment import Segment
from tests.store.building import (
    HOUR,
    MINUTE,
    T0,
    empty_store,
    gpu,
    hold,
    hours,
    named,
    names_of,
    packed,
    segment,
    steady,
)

YEAR = 365 * 24 * HOUR  # in the past of whoever runs the test
BEGIN = T0 - YEAR

CHILD = """
import os, signal, sys, threading
from pathlib import Path
from analytics.schedule import JobRunner
from gpuledger.ingester import Ingester
from gpuledger.wiring import clock_ms
from store.database import Database
from store.inbox import Inbox
from store.settings import StateSettings

def end():
    os.kill(os.getpid(), signal.SIGKILL)

def step(name):
    if name == sys.argv[2]:
        after_s = float(sys.argv[3])
        threading.Timer(after_s, end).start() if after_s else end()

data = Path(sys.argv[1])
database = Database.open(data)
inbox = Inbox(data / "inbox", min_free_bytes=0, step=step)
runner = JobRunner(database, clock_ms, 30)
Ingester(database, inbox, StateSettings(), runner, lambda error: None, step).start()
"""
STEPS = [
    *("before the transaction", "after the transaction", "before the file goes"),
    *("before the rollups", "after the rollups"),
]


def delivered() -> list[Segment]:
    """A run's three hours on one of two GPUs, the last hour first, and one of them twice."""
    parts = []
    for number in (2, 0, 1, 0):
        from_ms = BEGIN + number * HOUR
        rows = [
            row
            for device in (0, 1)
            for row in steady(from_ms, from_ms + HOUR, device, 0 if device == 0 else None, MINUTE)
        ]
        held = hold(start_ms=BEGIN, end_ms=BEGIN + 3 * HOUR if number == 2 else None)
        parts.append(segment(rows, seq=number, devices=[gpu(), gpu("GPU-1", index=1)], holdings=[held]))
    return parts


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose inbox holds what was acknowledged."""
    data = tmp_path_factory.mktemp("waiting") / "data"
    empty_store(data).close()
    inbox = Inbox(data / "inbox", min_free_bytes=0)
    inbox.append_many(packed(*delivered()))
    inbox.close()
    return data


@pytest.fixture(scope="module")
def never_killed(waiting: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    data = tmp_path_factory.mktemp("whole") / "data"
    shutil.copytree(waiting, data)
    return settled(data)


def settled(data: Path) -> dict[str, Any]:
    """Takes in what waits and returns all that the segments say."""
    with Database.open(data) as database:
        inbox = Inbox(data / "inbox", min_free_bytes=0)
        while (batch := inbox.take()).count:
            ingest(database, batch.entries, clock_ms())
            inbox.done(batch)
        inbox.close()
        while roll_up(database):
            pass
        with database.cursor() as cursor:
            rows = cursor.tuples("SELECT gpu_key, ts_ms, span_ms, run_key FROM hot ORDER BY ALL")
            stored = names_of(cursor)
        return {"rows": rows, "stored": stored, "hours": hours(database), "minutes": named(database, "gpu_minute")}


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_a_step(waiting: Path, never_killed: dict[str, Any], tmp_path: Path, step: str) -> None:
    assert killed(waiting, tmp_path / "data", step, 0) == never_killed


@pytest.mark.parametrize("after_ms", [1, 3, 5, 8, 12, 20])
@pytest.mark.parametrize("step", ["before the transaction", "before the rollups"])
def test_a_kill_inside(waiting: Path, never_killed: dict[str, Any], tmp_path: Path, step: str, after_ms: int) -> None:
    assert killed(waiting, tmp_path / "data", step, after_ms / 1000) == never_killed


def killed(waiting: Path, data: Path, step: str, after_s: float) -> dict[str, Any]:
    shutil.copytree(waiting, data)
    command = [sys.executable, "-c", CHILD, str(data), step, str(after_s)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (-signal.SIGKILL, "")
    return settled(data)
