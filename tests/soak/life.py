"""One life of a store, to be ended by SIGKILL: what a hub has between its door and its files, without pages.

The parts are the hub's own and wired as in gpuledger/hub.py; only sealing, merging, retention and checkpoints follow
each other without a pause, so that a life of half a second has all of them.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import msgspec

from analytics.schedule import JobRunner
from gpuledger.ingester import Ingester
from gpuledger.server import compose, listen_tcp, listen_unix, serve
from gpuledger.settings import HubSettings
from gpuledger.wiring import clock_ms
from store.database import Cursor, Database
from store.errors import StoreError
from store.inbox import Inbox
from store.manifest import DAY_MS, remove_unlisted
from store.merge import merge
from store.minutes import minutes
from store.receive import Receiver
from store.retention import retain
from store.samples import samples
from store.seal import seal
from store.seal_minutes import seal_minutes
from store.settings import StoreSettings
from store.tokens import Tokens
from store.turned_away import TurnedAway
from tests.soak.moments import Moments

SETTINGS: Final = StoreSettings(
    seal_after_s=0, merge_after_s=0, raw_days=20, minute_seal_days=1, minute_days=30, checkpoint_mib=8, min_free_mib=16
)
PAUSE_S: Final = 0.01


class Fate(msgspec.Struct, frozen=True):
    """When the process ends itself: some time after a worker came to a step for the n-th time; None: from outside."""

    worker: str
    step: str
    nth: int
    after_s: float


class Born(msgspec.Struct, frozen=True):
    """What a life says once it takes segments."""

    port: int
    reopen_ms: float
    unlisted: int


def live(data: Path, moments: Path, fate: Fate | None, said: Connection) -> None:
    """Open the store, say so, and take segments until the end."""
    hear = _listeners(Moments(moments), fate)
    start = hear("start")
    began = time.perf_counter()
    start("opening the database")
    database = Database.open(data, settings=SETTINGS)
    with database.cursor() as cursor:
        cursor.scalar("SELECT count(*) FROM hot")
        reopen_ms = 1000 * (time.perf_counter() - began)
        start("removing unlisted files")
        unlisted = remove_unlisted(cursor)
    start("opening the inbox")
    inbox = Inbox(data / "inbox", min_free_bytes=SETTINGS.min_free_mib << 20, step=hear("inbox"))
    start("")
    receiver = Receiver(inbox, Tokens(database), synthetic=False, turned_away=TurnedAway(), now_ms=clock_ms)
    runner = JobRunner(database, clock_ms, 30)
    Ingester(database, inbox, SETTINGS.states, runner, _unexpected, hear("ingest")).start()
    for work in (_upkeep, _read):
        threading.Thread(target=work, args=(database, hear("upkeep")), daemon=True).start()
    hub = HubSettings(port=0)
    tcp, unix = listen_tcp(hub), listen_unix(data / "hub.sock")
    born = Born(tcp.getsockname()[1], reopen_ms, unlisted)
    serve(compose(receiver, None), hub, tcp, unix, lambda: said.send(born), lambda: None)


def _listeners(moments: Moments, fate: Fate | None) -> Callable[[str], Callable[[str], None]]:
    heard = 0

    def listener(worker: str) -> Callable[[str], None]:
        note = moments.step_of(worker)

        def hear(step: str) -> None:
            nonlocal heard
            note(step)
            if fate is not None and (worker, step) == (fate.worker, fate.step):
                heard += 1
                if heard == fate.nth:
                    _end(fate.after_s)

        return hear

    return listener


def _end(after_s: float) -> None:
    if after_s:
        timer = threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    else:
        os.kill(os.getpid(), signal.SIGKILL)


def _upkeep(database: Database, step: Callable[[str], None]) -> None:
    works: dict[str, Callable[[], int]] = {
        "seal": lambda: seal(database, SETTINGS, clock_ms(), lambda name: step(f"seal, {name}")),
        "merge": lambda: merge(database, SETTINGS, clock_ms(), lambda name: step(f"merge, {name}")),
        "minutes": lambda: seal_minutes(database, SETTINGS, clock_ms(), lambda name: step(f"minutes, {name}")),
        "retention": lambda: retain(database, SETTINGS, clock_ms(), lambda name: step(f"retention, {name}")),
        "checkpoint": lambda: _checkpoint(database),
    }
    while True:
        for name, work in works.items():
            step(name)
            try:
                work()
            except StoreError as error:
                print(f"upkeep={name} {error}", flush=True)
            step("")
            time.sleep(PAUSE_S)


def _checkpoint(database: Database) -> int:
    with database.cursor() as cursor, database.writer:
        return cursor.execute("FORCE CHECKPOINT")


def _read(database: Database, _: Callable[[str], None]) -> None:
    """Ask as a page does, of the newest days."""
    while True:
        with database.cursor() as cursor:
            _newest_days(cursor)
        time.sleep(PAUSE_S)


def _newest_days(cursor: Cursor) -> None:
    newest_ms = int(cursor.scalar("SELECT coalesce(max(last_ms), 0) FROM node"))
    with samples(cursor, newest_ms - DAY_MS, newest_ms):
        cursor.tuples("SELECT gpu_key, count(*), avg(util_pct) FROM samples GROUP BY gpu_key")
    with minutes(cursor, newest_ms - 3 * DAY_MS, newest_ms):
        cursor.tuples("SELECT node_key, sum(held_ms)::BIGINT FROM minutes GROUP BY node_key")
    cursor.tuples("SELECT node_key, sum(held_ms)::BIGINT FROM gpu_hour GROUP BY node_key")


def _unexpected(error: StoreError) -> None:
    print(f"the database stopped: {error}", flush=True)
    os._exit(3)
