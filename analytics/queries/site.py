"""What the store holds: since when, until when, of which kind, and what a filter can choose from."""

from typing import Final, Literal

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries.pieces import pieces
from analytics.queries.scope import Condition, fill
from store.database import Cursor

Kind = Literal["slurm", "sessions", "empty"]


class Choices(msgspec.Struct, frozen=True):
    """Values that filters offer, each sorted, of runs that the viewer may see."""

    clusters: list[str]
    users: list[str]
    accounts: list[str]
    partitions: list[str]
    models: list[str]
    nodes: list[str]
    states: list[str]
    rules: list[str]


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

# Each list by its own short statement: one for all takes DuckDB longer to plan than these to run.
_OF_RUNS: Final = """
    SELECT DISTINCT r.cluster, r.user_name, r.account, r."partition", r.state FROM run r
    WHERE r.run_key IN (SELECT run_key FROM ({piece}))"""

_OF_PLACES: Final = "SELECT DISTINCT model, node FROM ({piece})"

_OF_FINDINGS: Final = """
    SELECT DISTINCT rule FROM finding WHERE closed_ms IS NULL AND run_key IN (SELECT run_key FROM ({piece}))"""


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


def choices(cur: Cursor, viewer: Viewer, window: Window) -> Choices:
    """Returns the values that occur in the window; what is not known is no choice."""
    runs = pieces(viewer, window, Filter(), ("run_key",))
    places = pieces(viewer, window, Filter(), ("model", "node"))
    clusters, users, accounts, partitions, states = _columns(cur, _OF_RUNS, runs, 5)
    models, nodes = _columns(cur, _OF_PLACES, places, 2)
    (rules,) = _columns(cur, _OF_FINDINGS, runs, 1)
    # Slurm prints a cancelled job's state as CANCELLED by UID.
    states = sorted({state.partition(" ")[0].upper() for state in states})
    return Choices(clusters, users, accounts, partitions, models, nodes, states, rules)


def users(cur: Cursor, viewer: Viewer, window: Window) -> list[str]:
    """Returns the people who held GPUs in the window, sorted."""
    return _columns(cur, 'SELECT DISTINCT "user" FROM ({piece})', pieces(viewer, window, Filter(), ("user",)), 1)[0]


def _columns(cur: Cursor, statement: str, piece: Condition, count: int) -> list[list[str]]:
    """The distinct known values of each column, sorted."""
    rows = cur.tuples(fill(statement, piece=piece.sql), piece.params)
    return [sorted({row[index] for row in rows if row[index]}) for index in range(count)]
