"""What the store holds: since when, until when, of which kind, and what a filter can choose from."""

from typing import Final, Literal

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries.pieces import pieces
from analytics.queries.scope import fill
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


_SITE: Final = """
    SELECT CASE WHEN count(*) = 0 THEN 'empty' WHEN bool_or(slurm) THEN 'slurm' ELSE 'sessions' END AS kind,
        coalesce((SELECT value = '1' FROM meta WHERE key = 'synthetic'), FALSE) AS synthetic,
        coalesce(list_sort(list(DISTINCT cluster)), []) AS clusters, count(*) AS nodes,
        (SELECT count(*) FROM gpu) AS gpus,
        min(first_ms) AS data_from_ms, max(last_ms) AS data_to_ms, max(interval_ms) AS interval_ms
    FROM node WHERE node_key <> 0"""

_COLUMNS: Final = ("run_key", "cluster", "user", "account", "partition", "model", "node")

_CHOICES: Final = """
    WITH piece AS MATERIALIZED (
        SELECT DISTINCT cluster, "user", account, "partition", model, node, run_key FROM ({piece}))
    SELECT list_sort(list(DISTINCT cluster)) AS clusters, list_sort(list(DISTINCT "user")) AS users,
        list_sort(list(DISTINCT account)) AS accounts, list_sort(list(DISTINCT "partition")) AS partitions,
        list_sort(list(DISTINCT model)) AS models, list_sort(list(DISTINCT node)) AS nodes,
        (SELECT list_sort(list(DISTINCT upper(split_part(state, ' ', 1))))
            FROM run WHERE run_key IN (SELECT run_key FROM piece)) AS states,
        (SELECT list_sort(list(DISTINCT rule)) FROM finding
            WHERE closed_ms IS NULL AND run_key IN (SELECT run_key FROM piece)) AS rules
    FROM piece"""


def site(cur: Cursor) -> Site:
    """Returns what the store holds."""
    return cur.rows(_SITE, None, Site)[0]


def data_to(cur: Cursor) -> int | None:
    """Returns the newest row's time over all nodes; None in an empty store."""
    found: int | None = cur.scalar("SELECT max(last_ms) FROM node")
    return found


def kind(cur: Cursor) -> Kind:
    """Returns whether this is a Slurm cluster, a host whose programs are counted as sessions, or empty."""
    return site(cur).kind


def choices(cur: Cursor, viewer: Viewer, window: Window) -> Choices:
    """Returns the values that occur in the window; what is not known is no choice."""
    piece = pieces(viewer, window, Filter(), _COLUMNS)
    lists = cur.tuples(fill(_CHOICES, piece=piece.sql), piece.params)[0]
    return Choices(*([value for value in values or () if value] for values in lists))
