"""State lanes: for each GPU of a run the stretches of equal state, from its start to its end without holes."""

from collections import defaultdict
from typing import Final

import msgspec
import numpy as np

from analytics.model import HOUR_MS, MINUTE_MS, State, Viewer
from analytics.queries.scope import Condition, fill, visible
from analytics.queries.site import data_to
from analytics.queries.stretches import Stretch, merge, overlaid, thin
from store.database import Cursor
from store.minutes import minutes
from store.samples import kept_from_ms, samples
from store.states import STATE_SQL

__all__ = ["Lane", "Lanes", "Stretch", "lanes"]

MAX_RAW_ROWS: Final = 400_000
"""Up to this many rows are merged exactly; above, the minutes tell."""


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU of a run. ``gpu`` is ``node:index``."""

    gpu_key: int
    gpu: str
    node: str | None
    stretches: list[Stretch]


class Lanes(msgspec.Struct, frozen=True, kw_only=True):
    """``merged_below_ms`` is the length below which stretches were merged into their neighbours (0: none were)."""

    merged_below_ms: int
    from_raw: bool
    lanes: list[Lane]


class Hold(msgspec.Struct, frozen=True):
    """One GPU's hold by a run; ``end_ms`` is where the data ends while it lasts."""

    gpu_key: int
    gpu: str
    node: str | None
    start_ms: int
    end_ms: int


class _Piece(msgspec.Struct, frozen=True):
    gpu_key: int
    state: str
    start_ms: int
    end_ms: int


_HOLDS: Final = """
    SELECT a.gpu_key, n.name || ':' || coalesce(CAST(g.idx AS VARCHAR), '?') AS gpu, n.name AS node,
        a.start_ms, greatest(a.start_ms, coalesce(a.end_ms, $data_to)) AS end_ms
    FROM allocation a JOIN run r ON r.run_key = a.run_key LEFT JOIN gpu g ON g.gpu_key = a.gpu_key
        LEFT JOIN node n ON n.node_key = a.node_key
    WHERE {where} ORDER BY n.name, g.idx, a.gpu_key"""

_ROWS: Final = """
    SELECT s.gpu_key, s.ts_ms AS end_ms, s.ts_ms - s.span_ms AS start_ms,
        CAST(list_position($states, {state}) - 1 AS UTINYINT) AS state
    FROM samples s JOIN gpu g ON g.gpu_key = s.gpu_key
    WHERE s.run_key = $run AND s.ts_ms > $start AND s.ts_ms <= $end
        AND s.node_key IN (SELECT node_key FROM allocation WHERE run_key = $run)
    ORDER BY s.gpu_key, s.ts_ms"""

_STATES: Final = [state.value for state in (State.ACTIVE, State.LOW, State.IDLE_HELD, State.IDLE, State.UNKNOWN)]

# An idle stretch of a minute covers at least half of one of the two minutes that it lies in: so half a minute of idle
# makes an idle minute, and no such stretch is lost.
_MINUTES: Final = f"""
    SELECT gpu_key, minute_ms AS start_ms, minute_ms + {MINUTE_MS} AS end_ms,
        CASE WHEN idle_held_ms + idle_ms >= {MINUTE_MS // 2} AND idle_held_ms >= idle_ms THEN 'idle_held'
            WHEN idle_held_ms + idle_ms >= {MINUTE_MS // 2} THEN 'idle'
            WHEN unknown_ms >= greatest(active_ms, low_ms) THEN 'unknown'
            WHEN active_ms >= low_ms THEN 'active' ELSE 'low' END AS state
    FROM minutes WHERE run_key = $run AND minute_ms > $start - {MINUTE_MS} AND minute_ms < $end
    ORDER BY gpu_key, minute_ms"""  # noqa: S608 - constants

_PAUSES: Final = """
    SELECT start_ms, coalesce(end_ms, $end) FROM suspension
    WHERE run_key = $run AND start_ms < $end AND coalesce(end_ms, $end) > greatest(start_ms, $start)
    ORDER BY start_ms"""


def lanes(cur: Cursor, viewer: Viewer, run_key: int, max_bars: int = 1000) -> Lanes:
    """Returns at most ``max_bars`` stretches; one that is idle for 60 s or longer is never dropped.

    Where such stretches alone would be more, they are all returned.
    """
    held = holds(cur, viewer, run_key)
    if not held:
        return Lanes(merged_below_ms=0, from_raw=True, lanes=[])
    span = {"run": run_key, "start": min(hold.start_ms for hold in held), "end": max(hold.end_ms for hold in held)}
    from_raw = drawn_from_rows(cur, held, MAX_RAW_ROWS)
    pieces: dict[int, list[_Piece]] = defaultdict(list)
    for piece in _of_rows(cur, span) if from_raw else _of_minutes(cur, span):
        pieces[piece.gpu_key].append(piece)
    pauses = [Stretch(state=State.SUSPENDED, start_ms=start, end_ms=end) for start, end in cur.tuples(_PAUSES, span)]
    whole = [overlaid(_without_holes(hold, pieces[hold.gpu_key]), pauses) for hold in held]
    merged_below_ms, thinned = thin(whole, max_bars)
    return Lanes(
        merged_below_ms=merged_below_ms,
        from_raw=from_raw,
        lanes=[
            Lane(gpu_key=hold.gpu_key, gpu=hold.gpu, node=hold.node, stretches=stretches)
            for hold, stretches in zip(held, thinned, strict=True)
        ],
    )


def holds(cur: Cursor, viewer: Viewer, run_key: int) -> list[Hold]:
    """Returns the GPUs that a run is known to hold, by node and index; none where the viewer may not see it."""
    where = visible(viewer) & Condition("r.run_key = $run", {"run": run_key})
    return cur.rows(fill(_HOLDS, where=where.sql), where.params | {"data_to": data_to(cur) or 0}, Hold)


def drawn_from_rows(cur: Cursor, held: list[Hold], most: int) -> bool:
    """Returns whether raw rows are to be drawn and not minutes: all are kept still, and about ``most`` or fewer."""
    if min(hold.start_ms for hold in held) < kept_from_ms(cur):
        return False
    interval_ms = cur.scalar("SELECT min(interval_ms) FROM node") or MINUTE_MS
    return sum((hold.end_ms - hold.start_ms) // max(1, interval_ms) for hold in held) <= most


def _of_minutes(cur: Cursor, span: dict[str, int]) -> list[_Piece]:
    with minutes(cur, span["start"] - MINUTE_MS, span["end"]):
        return cur.rows(_MINUTES, span, _Piece)


def _of_rows(cur: Cursor, span: dict[str, int]) -> list[_Piece]:
    """Stretches of equal state without a gap, by GPU in time; a day of rows is not carried into Python objects.

    A row counts from the later of its own start and the row before it, as in the rollups.
    """
    # The last row of a hold may end after it: it is looked at, and cut.
    span = span | {"end": span["end"] + HOUR_MS}
    with samples(cur, span["start"], span["end"]):
        found = cur.arrow(fill(_ROWS, state=STATE_SQL), span | {"states": _STATES})
    gpu, start, end, state = (found.column(name).to_numpy() for name in ("gpu_key", "start_ms", "end_ms", "state"))
    follows = gpu[1:] == gpu[:-1]
    start = np.r_[start[:1], np.where(follows, np.maximum(start[1:], end[:-1]), start[1:])]
    lasting = end > start
    gpu, start, end, state = gpu[lasting], start[lasting], end[lasting], state[lasting]
    if not lasting.any():
        return []
    edges = (gpu[1:] != gpu[:-1]) | (state[1:] != state[:-1]) | (start[1:] > end[:-1])
    first, last = np.flatnonzero(np.r_[True, edges]), np.flatnonzero(np.r_[edges, True])
    columns = (gpu[first], state[first], start[first], end[last])
    return [
        _Piece(key, _STATES[code], *times) for key, code, *times in zip(*map(np.ndarray.tolist, columns), strict=True)
    ]


def _without_holes(hold: Hold, pieces: list[_Piece]) -> list[Stretch]:
    """The hold from start to end: pieces cut to it, and what lies between them unknown."""
    found: list[Stretch] = []
    at = hold.start_ms
    for piece in pieces:
        start, end = max(piece.start_ms, at), min(piece.end_ms, hold.end_ms)
        if start >= end:
            continue
        if start > at:
            found.append(Stretch(state=State.UNKNOWN, start_ms=at, end_ms=start))
        found.append(Stretch(state=piece.state, start_ms=start, end_ms=end))
        at = end
    if at < hold.end_ms:
        found.append(Stretch(state=State.UNKNOWN, start_ms=at, end_ms=hold.end_ms))
    return merge(found)
