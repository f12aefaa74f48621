"""Segments for a hub, how they are handed in, and what its store holds afterwards."""

from pathlib import Path
from typing import Any

from store.database import Database
from store.samples import samples
from store.segment import Segment, encode
from tests.e2e.ledger import Running, fetch
from tests.gpuledger.said import said
from tests.store.building import MINUTE, T0, gpu, hold, names_of, segment, steady

ROWS = 6


def minute(seq: int, *, node: str = "n1", **more: Any) -> Segment:
    """Returns a segment of one node's minute number ``seq``: ROWS rows of one GPU that a job keeps busy."""
    start_ms = T0 + seq * MINUTE
    rows = steady(start_ms, start_ms + MINUTE, 0, 0, util_pct=900)
    return segment(rows, node=node, seq=seq, devices=[gpu(f"GPU-{node}")], holdings=[hold()], **more)


def make_token(data: Path, name: str = "nodes") -> str:
    """Makes a token for a hub that is not running."""
    made = said("token", "add", name, "--data", data)
    assert made.code == 0, made
    return made.out.strip()


def hand_in(hub: Running, token: str, data: bytes | Segment) -> tuple[int, bytes]:
    """Posts a segment, or bytes that are none; returns the status and what the hub says."""
    body = encode(data) if isinstance(data, Segment) else data
    return fetch(f"{hub.address}/api/v1/segments", body, Authorization=f"Bearer {token}")


def stored(data: Path) -> set[str]:
    """Returns the name of every segment in a directory at rest, whose rows are counted and compared."""
    with Database.open(data, read_only=True) as database, database.cursor() as cursor:
        rows = cursor.scalar("SELECT coalesce(sum(rows), 0) FROM arrival")
        twice = "SELECT count(*) FROM (SELECT 1 FROM samples GROUP BY gpu_key, ts_ms HAVING count(*) > 1)"
        with samples(cursor, 0, 1 << 62):  # what is old enough may have been sealed meanwhile
            assert cursor.scalar("SELECT count(*) FROM samples") == rows
            assert cursor.scalar(twice) == 0
        return names_of(cursor)
