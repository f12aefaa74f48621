"""What the store holds: since when, until when, and of which kind."""

from typing import Final, Literal

import msgspec

from store.database import Cursor

Kind = Literal["slurm", "sessions", "empty"]


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """``data_to_ms`` is the newest row of any node; None in an empty store."""

    kind: Kind
    synthetic: bool
    clusters: list[str]
    nodes: int
    gpus: int
    data_from_ms: int | None
    data_to_ms: int | None
    interval_ms: int | None


_NODES: Final = "SELECT cluster, slurm, first_ms, last_ms, interval_ms FROM node WHERE node_key <> 0"

_MORE: Final = "SELECT count(*), (SELECT value = '1' FROM meta WHERE key = 'synthetic') FROM gpu"

_TOLD_AT: Final = """
    SELECT coalesce((SELECT max(last_ms) FROM node WHERE EXISTS (
        SELECT 1 FROM meta WHERE key = 'synthetic' AND value = '1')), $1)"""


def site(cur: Cursor) -> Site:
    """Returns what the store holds."""
    rows = cur.once(_NODES)
    clusters, slurm, first_ms, last_ms, interval_ms = zip(*rows, strict=True) if rows else ((),) * 5
    gpus, synthetic = cur.once(_MORE)[0]
    return Site(
        kind="empty" if not rows else "slurm" if any(slurm) else "sessions",
        synthetic=bool(synthetic),
        clusters=sorted(set(clusters)),
        nodes=len(rows),
        gpus=gpus,
        data_from_ms=min(first_ms, default=None),
        data_to_ms=max(last_ms, default=None),
        interval_ms=max(interval_ms, default=None),
    )


def data_to(cur: Cursor) -> int | None:
    """Returns the newest row's time over all nodes; None in an empty store."""
    found: int | None = cur.once("SELECT max(last_ms) FROM node")[0][0]
    return found


def told_at(cur: Cursor, now_ms: int) -> int:
    """Returns the moment at which ages are told and nodes are called silent: the clock.

    A synthetic cluster is a story told once: it is seen at the end of its data.
    """
    found: int = cur.once(_TOLD_AT, [now_ms])[0][0]
    return found


def kind(cur: Cursor) -> Kind:
    """Returns whether this is a Slurm cluster, a host whose programs are counted as sessions, or empty."""
    return site(cur).kind
