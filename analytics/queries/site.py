"""What the store holds: since when, until when, of which kind, and what a filter can choose from."""

from typing import Literal

import msgspec

from analytics.model import Viewer, Window
from store.database import Cursor

Kind = Literal["slurm", "sessions", "empty"]


class Choices(msgspec.Struct, frozen=True, kw_only=True):
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


def site(cur: Cursor) -> Site:
    """Returns what the store holds."""
    raise NotImplementedError


def data_to(cur: Cursor) -> int | None:
    """Returns the newest row's time over all nodes; None in an empty store."""
    raise NotImplementedError


def kind(cur: Cursor) -> Kind:
    """Returns whether this is a Slurm cluster, a host whose programs are counted as sessions, or empty."""
    raise NotImplementedError


def choices(cur: Cursor, viewer: Viewer, window: Window) -> Choices:
    """Returns the values that occur in the window."""
    raise NotImplementedError
