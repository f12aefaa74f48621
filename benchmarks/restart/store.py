"""Makes the store that is hardest to open, and ends as a process under load ends: by SIGKILL."""

import os
import signal
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.restart.segments import MINUTE_MS, Minutes
from gpuledger.wiring import clock_ms
from store import tokens
from store.checkpoint import log_file
from store.database import Database
from store.inbox import Inbox
from store.ingest import ingest
from store.rollup import roll_up
from store.seal import seal
from store.segment import Segment, encode
from store.settings import StoreSettings

NEVER_MIB: Final = 1 << 16
"""Threshold of a log that is to stay as it is."""
A_DAY: Final = 24 * 60
BATCH: Final = 200
TOKEN_FILE: Final = "token"


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in the store when the hub is killed."""

    nodes: int = 200
    days: int = 365
    """Days that have a sealed file each."""
    log_mib: int = 95
    """Size of the write-ahead log: just below its threshold."""
    inbox_mib: int = 3072
    """What was acknowledged and is not stored."""
    kills: int = 5


def fill(data: Path, sizes: Sizes) -> None:
    """Fills the store and kills this process."""
    database = Database.open(data, settings=StoreSettings(checkpoint_mib=NEVER_MIB))
    now_ms = clock_ms()
    with database.cursor() as cursor:
        token = tokens.create(cursor, "nodes", now_ms)
    (data / TOKEN_FILE).write_text(token)
    today_ms = now_ms // MINUTE_MS * MINUTE_MS - 60 * MINUTE_MS
    _fill_days(database, today_ms, sizes.days)
    minutes = Minutes(sizes.nodes, today_ms)
    _fill_log(database, minutes, sizes.log_mib << 20)
    _fill_inbox(data / "inbox", list(minutes.of(0)), sizes.inbox_mib << 20)
    os.kill(os.getpid(), signal.SIGKILL)


def _fill_days(database: Database, today_ms: int, days: int) -> None:
    first = Minutes(1, today_ms - days * A_DAY * MINUTE_MS)
    for day in range(days):
        ingest(database, list(first.of(day * A_DAY)), clock_ms())
    while roll_up(database):
        pass
    seal(database, StoreSettings(seal_after_s=0), clock_ms())
    with database.cursor() as cursor:
        cursor.execute("CHECKPOINT")


def _fill_log(database: Database, minutes: Minutes, size: int) -> None:
    path, minute = log_file(database.directory), 0
    while not path.exists() or path.stat().st_size < size:
        batch = list(minutes.of(minute))
        for start in range(0, len(batch), BATCH):
            ingest(database, batch[start : start + BATCH], clock_ms())
            if path.stat().st_size >= size:
                return
        minute += 1


def _fill_inbox(directory: Path, segments: list[tuple[str, bytes]], size: int) -> None:
    """What was stored and not yet forgotten takes as long to read as anything."""
    inbox = Inbox(directory, min_free_bytes=0, max_waiting_bytes=size * 2)
    while inbox.waiting_bytes < size:
        inbox.append_many(segments)


def one_more(number: int) -> bytes:
    """Returns a small segment to deliver."""
    first_ms = clock_ms() - MINUTE_MS
    return encode(
        Segment(
            node="late", boot_id=f"b{os.getpid()}", seq=number, cluster="bench", agent="0.1.0", interval_ms=1000,
            first_ms=first_ms, last_ms=first_ms, written_ms=first_ms,
        )
    )  # fmt: skip
