"""The disk fills up under the database: one sentence, nothing lost, and it goes on when there is room again.

A limit on the size of files stands for the full disk: the same write fails, in a process of its own.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from store.database import Database
from store.ingest import ingest
from tests.store.building import NOW, T0, packed, row, segment

CHILD = """
import resource, sys
from pathlib import Path
from store.database import Database
from store.errors import StoreError
from store.ingest import ingest
from tests.store.building import NOW
from tests.store.test_disk_full import first, second

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

def attempt(name, action):
    try:
        print(name, action())
    except StoreError as error:
        print(name, type(error).__name__, error)

database = Database.open(Path(sys.argv[1]))
ingest(database, first(), NOW)
limit(int(sys.argv[2]))
if sys.argv[3] == "checkpoint":
    attempt("checkpoint", lambda: database.cursor().execute("CHECKPOINT"))
else:
    attempt("full", lambda: ingest(database, second(), NOW).rows)
limit(resource.RLIM_INFINITY)
attempt("room", lambda: ingest(database, second(), NOW).rows)
"""


def batch(seq: int, rows: int) -> list[tuple[str, bytes]]:
    noise = [
        {"util_pct": i * 7919 % 1000, "power_w": i * 104_729 % 60_000, "mem_used_mib": i * 15_485_863 % 80_000}
        for i in range(rows)
    ]
    return packed(segment([row(T0 + (i + 1) * 1000, 0, None, 1000, **each) for i, each in enumerate(noise)], seq=seq))


def first() -> list[tuple[str, bytes]]:
    return batch(0, 8000)


def second() -> list[tuple[str, bytes]]:
    return batch(1, 20_000)


def run(directory: Path, limit: int, action: str) -> list[str]:
    command = [sys.executable, "-c", CHILD, str(directory), str(limit), action]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_batch_that_finds_no_room_is_stored_when_there_is(tmp_path: Path) -> None:
    full, room = run(tmp_path, 900_000, "ingest")
    assert full.startswith("full DiskFull No room to write")
    assert room == "room 20000"


def test_a_checkpoint_that_fails_stops_the_database_and_loses_nothing(tmp_path: Path) -> None:
    failed, room = run(tmp_path, 100_000, "checkpoint")
    assert failed.startswith("checkpoint StoreStopped")
    assert "start the hub again" in room
    with Database.open(tmp_path) as database, database.cursor() as cursor:
        assert cursor.scalar("SELECT count(*) FROM hot") == 8000
        assert ingest(database, second(), NOW).rows == 20_000


@pytest.fixture(autouse=True)
def _from_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])  # the child imports this module
