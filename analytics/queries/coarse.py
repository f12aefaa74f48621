"""Pieces of a window from the sums by node or by holder, where single runs and GPUs are not asked for.

The store adds the rows of single GPUs up by the hour and the day (store/sums.py), key by key and in integers, so what
is summed here is the same to the last digit as from :mod:`analytics.queries.pieces`, from a hundredth of the rows. Days
of the site's zone answer the inside of a window, hours its ends.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, Literal

import msgspec

from analytics.model import HOUR_MS, Filter, Viewer, Window
from analytics.queries.days import midnights
from analytics.queries.pieces import pieces
from analytics.queries.rollup import floor
from analytics.queries.scope import Condition, Params, fill, of_places, of_runs, visible
from analytics.queries.site import data_to
from store.database import Cursor
from store.schema import UNPLACED
from store.sums import ZONE

By = Literal["node", "holder"]

MOST_SPANS: Final = 8
"""Spans of hours and days that one statement reads; a window that is cut more often is read by the hour."""

# The names under which conditions know a run, a GPU and a node: a holder stands for its runs, a class for its GPUs.
_JOINS: Final = {
    "r": " JOIN holder r ON r.holder_key = h.holder_key",
    "g": " JOIN gpu_class g ON g.class_key = h.class_key",
    "n": " LEFT JOIN node n ON n.node_key = h.node_key",
}

_READS: Final = {
    "held": "held_ms",
    "active": "active_ms",
    "low": "low_ms",
    "idle_held": "idle_held_ms",
    "idle_empty": "idle_ms",
    "unknown": "unknown_ms",
    "unmeasurable": "unmeasurable_ms",
    "parked": "parked_ms",
    "util_sum": "util_pct_sum",
    "util_ms": "util_pct_ms",
    "sm_sum": "sm_active_pct_sum",
    "sm_ms": "sm_active_pct_ms",
    "power_only_ms": "power_only_ms",
    "energy": "energy",
    "energy_estimated": "energy_estimated",
}
_KEYS: Final = {
    "at_ms": "h.at_ms",
    "weight": "g.weight",
    "model": "g.model",
    "node": "n.name",
    "cluster": "r.cluster",
    "user": "r.user_name",
    "account": "r.account",
    "partition": 'r."partition"',
}
_OF_HOLDERS: Final = ("cluster", "user", "account", "partition")
_OF_ONE_RUN: Final = ("state", "finding", "text", "family", "min_gpu_h", "max_gpu_h", "min_util_pct", "max_util_pct")

# Marks of UNPLACED are for the holders' sake alone: somebody's runs are described in another way than before.
_STALE: Final = f"SELECT count(*) FILTER (node_key <> {UNPLACED}), count(*) FROM dirty_sum"  # noqa: S608 - a constant
_ZONE: Final = "SELECT value FROM meta WHERE key = $1"

_SPAN: Final = """
    SELECT {bucket}_ms AS at_ms, {length} AS bucket_ms, {by}_key, class_key{columns} FROM {by}_{bucket}
    WHERE {bucket}_ms >= $from_{number} AND {bucket}_ms < $to_{number}"""

_LENGTH: Final = {"hour": str(HOUR_MS), "day": "end_ms - day_ms"}

# A row of a node stands for held and for free time; pieces are of what a run held, or holds and is suspended.
_HELD: Final = {"node": "(h.held_ms > 0 OR h.suspended_ms > 0)", "holder": "r.held"}

_PIECE: Final = """
    SELECT {columns} FROM ({rows}) AS h{joins} WHERE {held} AND {where}"""


class _Span(msgspec.Struct, frozen=True):
    """[from_ms, to_ms) read by the hour or by the day."""

    bucket: Literal["hour", "day"]
    from_ms: int
    to_ms: int


def coarse(
    cur: Cursor, viewer: Viewer, window: Window, where: Filter, columns: Iterable[str], *, cuts: Sequence[int] = ()
) -> Condition | None:
    """Returns a SELECT of pieces, one per node or holder, class of GPUs and bucket, as pieces() without ``weigh`` does.

    Parts of an hour at the ends of the window are of single GPUs. None where the sums do not tell it: a filter on
    single runs, holders on a node, or sums that are being made anew.
    """
    columns = tuple(columns)
    inside, *ends = parted(cur, window)
    by = _by(viewer, where, columns)
    if by is None or not {*columns} <= _READS.keys() | _KEYS.keys():
        return None
    # What tells held time from free time is read besides.
    reads = dict.fromkeys([*(_READS[name] for name in columns if name in _READS), "held_ms", "suspended_ms"])
    rows = None if inside is None else sum_rows(cur, inside, reads, by, cuts=cuts)
    if rows is None:
        return None
    wanted = visible(viewer) & of_runs(where) & of_places(where)
    text = ", ".join(f'{_KEYS.get(name) or f"h.{_READS[name]}"} AS "{name}"' for name in columns)
    needed = f"{text} {_HELD[by]} {wanted.sql}"
    joins = "".join(join for alias, join in _JOINS.items() if re.search(rf"\b{alias}\.", needed))
    statement = fill(_PIECE, columns=text, rows=rows.sql, joins=joins, held=_HELD[by], where=wanted.sql)
    found = Condition(statement, rows.params | wanted.params)
    for number, end in enumerate(ends):
        piece = renamed(pieces(viewer, end, where, columns, weigh=False, cuts=cuts), f"_end{number}")
        found = Condition(f"{found.sql} UNION ALL {piece.sql}", found.params | piece.params)
    return found


def parted(cur: Cursor, window: Window) -> tuple[Window | None, *tuple[Window, ...]]:
    """Returns the full hours of a window, and the parts of an hour at its ends, none or up to two.

    An hour that reaches beyond the data is whole: there is nothing more in it.
    """
    first, last = -floor(-window.start_ms, HOUR_MS), floor(window.end_ms, HOUR_MS)
    if (data_to(cur) or 0) <= window.end_ms:
        last = window.end_ms
    if first >= last:
        return None, window
    ends = []
    if first > window.start_ms:
        ends.append(msgspec.structs.replace(window, end_ms=first))
    if last < window.end_ms:
        ends.append(msgspec.structs.replace(window, start_ms=last))
    return msgspec.structs.replace(window, start_ms=first, end_ms=last), *ends


def renamed(piece: Condition, suffix: str) -> Condition:
    """Returns the same with other names of its parameters, so that it can stand beside another of its kind."""
    sql = re.sub(r"\$(\w+)", rf"$\1{suffix}", piece.sql)
    return Condition(sql, {f"{name}{suffix}": value for name, value in piece.params.items()})


def sum_rows(
    cur: Cursor, window: Window, columns: Iterable[str], by: By, *, cuts: Sequence[int] = (), by_day: bool = True
) -> Condition | None:
    """Returns a SELECT of at_ms, bucket_ms, the key, class_key and columns of the sums of a window.

    No row lies across a moment of ``cuts``, and without ``by_day`` all are of hours. None where minutes are needed, or
    sums wait to be made anew.
    """
    spans = _spans(cur, window, cuts, by_day=by_day)
    if spans is None or cur.once(_STALE)[0][by == "holder"]:
        return None
    named = "".join(f", {column}" for column in columns)
    parts = [
        fill(_SPAN, bucket=span.bucket, length=_LENGTH[span.bucket], by=by, columns=named, number=str(number))
        for number, span in enumerate(spans)
    ]
    params: Params = {}
    for number, span in enumerate(spans):
        params |= {f"from_{number}": span.from_ms, f"to_{number}": span.to_ms}
    return Condition(" UNION ALL ".join(parts), params)


def _by(viewer: Viewer, where: Filter, columns: Sequence[str]) -> By | None:
    if any(getattr(where, name) is not None for name in _OF_ONE_RUN):
        return None
    of_holders = viewer.kind != "admin" or any(
        name in columns or getattr(where, name) is not None for name in _OF_HOLDERS
    )
    if where.node is None and "node" not in columns:
        return "holder" if of_holders else "node"
    return None if of_holders else "node"


def _spans(cur: Cursor, window: Window, cuts: Sequence[int], *, by_day: bool) -> list[_Span] | None:
    start, end = window.start_ms, window.end_ms
    # No row holds anything beyond the data's end: a window that reaches so far has all of the last hour and day.
    last = end if (data_to(cur) or 0) > end else -floor(-end, 24 * HOUR_MS) + 24 * HOUR_MS
    inside = sorted({cut for cut in cuts if start < cut < end})
    if start % HOUR_MS or last % HOUR_MS or any(cut % HOUR_MS for cut in inside):
        return None
    if not by_day:
        return [_Span("hour", start, last)]
    zone = cur.once(_ZONE, [ZONE])
    edges = [edge for edge in midnights(start, last, zone[0][0] if zone else "UTC") if edge % HOUR_MS == 0]
    days = [(low, high) for low, high in pairwise(edges) if not any(low < cut < high for cut in inside)]
    spans = list(_joined(start, last, days))
    return spans if len(spans) <= MOST_SPANS else [_Span("hour", start, last)]


def _joined(start: int, end: int, days: Sequence[tuple[int, int]]) -> Iterable[_Span]:
    """Days that follow each other as one span, and hours where there are none."""
    at, since = start, start
    for low, high in days:
        if low > at:
            if at > since:
                yield _Span("day", since, at)
            yield _Span("hour", at, low)
            since = low
        at = high
    if at > since:
        yield _Span("day", since, at)
    if end > at:
        yield _Span("hour", at, end)
