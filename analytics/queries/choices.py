"""What a filter can choose from: the names that occur in a window."""

from typing import Final

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries.coarse import coarse
from analytics.queries.pieces import pieces
from analytics.queries.scope import Params, fill, visible
from store.database import Cursor


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


# Each list by its own short statement: one for all takes DuckDB longer to plan than these to run.
_OF_STATES: Final = """
    SELECT DISTINCT r.state FROM run r
    WHERE r.start_ms < $end AND (r.end_ms IS NULL OR r.end_ms > $start) AND {where}"""

_OF_FINDINGS: Final = """
    SELECT DISTINCT f.rule FROM finding f JOIN run r ON r.run_key = f.run_key
    WHERE f.closed_ms IS NULL AND f.start_ms < $end AND f.end_ms >= $start AND {where}"""


def choices(cur: Cursor, viewer: Viewer, window: Window) -> Choices:
    """Returns the values that occur in the window; what is not known is no choice."""
    clusters, users, accounts, partitions = _columns(cur, viewer, window, ("cluster", "user", "account", "partition"))
    models, nodes = _columns(cur, viewer, window, ("model", "node"))
    seen = visible(viewer)
    span: Params = seen.params | {"start": window.start_ms, "end": window.end_ms}
    states = {row[0] for row in cur.tuples(fill(_OF_STATES, where=seen.sql), span)}
    rules = sorted(row[0] for row in cur.tuples(fill(_OF_FINDINGS, where=seen.sql), span))
    # Slurm prints a cancelled job's state as CANCELLED by UID.
    words = sorted({state.partition(" ")[0].upper() for state in states})
    return Choices(clusters, users, accounts, partitions, models, nodes, words, rules)


def users(cur: Cursor, viewer: Viewer, window: Window) -> list[str]:
    """Returns the people who held GPUs in the window, sorted."""
    return _columns(cur, viewer, window, ("user",))[0]


def _columns(cur: Cursor, viewer: Viewer, window: Window, names: tuple[str, ...]) -> list[list[str]]:
    """The distinct known values of each column of pieces, sorted."""
    piece = coarse(cur, viewer, window, Filter(), names) or pieces(viewer, window, Filter(), names)
    rows = cur.tuples(fill("SELECT DISTINCT * FROM ({piece})", piece=piece.sql), piece.params)
    return [sorted({row[index] for row in rows if row[index]}) for index in range(len(names))]
