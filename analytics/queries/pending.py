"""What has come in and is not in the figures yet: while that is much, every page says so."""

from collections import Counter
from typing import Final, Literal

import msgspec

from analytics.model import HOUR_MS, Filter, Viewer, Window
from analytics.queries.scope import Condition, fill, of_runs_on_places, visible
from analytics.wording import format_bytes, format_count, plural
from store.database import Cursor

SETTLING_MS: Final = 2 * HOUR_MS
"""The hours that are being recorded are summed anew all the time; these are not called waiting."""

MANY_HOURS: Final = 24
MANY_RATIO: Final = 0.01
MANY_RUNS: Final = 20
MANY_BYTES: Final = 8 << 20

NOT_JUDGED: Final = "Not known yet: what came in is still being judged."
"""Said in place of "nothing" while much waits."""


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """What waits: node-hours to be summed, finished runs to be judged, bytes received and not read.

    ``sentence`` is None where it is little enough to change no figure by much.
    """

    node_hours: int
    runs: int
    inbox_bytes: int
    sentence: str | None


# A run waits until the rules have seen it as it is: a footprint made while it ran says nothing of its end. One that
# runs gets new rows all the time; once judged it waits for nothing. The few that may wait are found before anything is
# looked up of a run: there are millions.
_WAITING: Final = """
    FROM (SELECT run_key FROM footprint_run WHERE NOT judged UNION SELECT run_key FROM dirty_run) AS w
        JOIN run r ON r.run_key = w.run_key LEFT JOIN footprint_run p ON p.run_key = w.run_key
    WHERE NOT coalesce(p.judged AND p.finished = (r.end_ms IS NOT NULL), FALSE)"""

_PENDING: Final = """
    SELECT (SELECT count(*) FROM dirty_hour WHERE hour_ms + $settling < (SELECT max(last_ms) FROM node)),
        (SELECT count(*) {waiting}),
        (SELECT CAST(coalesce(sum((last_ms - first_ms) // 3600000), 0) AS BIGINT) FROM node)"""

_OF_USER: Final = """
    SELECT count(*) {waiting} AND r.start_ms < $end AND (r.end_ms IS NULL OR r.end_ms > $start) AND {where}"""


_BY_HOLDER: Final = """
    SELECT r.user_name, r.account, count(*) {waiting} AND r.start_ms < $end AND (r.end_ms IS NULL OR r.end_ms > $start)
        AND {where} GROUP BY ALL"""


def pending(cur: Cursor) -> Pending:
    """Returns what waits in the whole store."""
    node_hours, runs, recorded = cur.once(fill(_PENDING, waiting=_WAITING), {"settling": SETTLING_MS})[0]
    inbox_bytes = sum(file.stat().st_size for file in (cur.database.directory / "inbox").glob("*"))
    many = node_hours > max(MANY_HOURS, MANY_RATIO * recorded) or runs > MANY_RUNS or inbox_bytes > MANY_BYTES
    parts = (
        (node_hours, f"{format_count(node_hours)} hours of nodes to be summed"),
        (runs, f"{plural(runs, 'run')} to be judged"),
        (inbox_bytes > MANY_BYTES, f"{format_bytes(inbox_bytes)} to be read"),
    )
    waiting = ", ".join(text for count, text in parts if count)
    sentence = f"Still loading: {waiting}. Figures change until then." if many else None
    return Pending(node_hours=node_hours, runs=runs, inbox_bytes=inbox_bytes, sentence=sentence)


def unjudged_runs(cur: Cursor, viewer: Viewer, user: str, start_ms: int, end_ms: int) -> int:
    """Returns how many runs of ``user`` that meet [start, end) the rules have not seen as they are."""
    where = visible(viewer) & Condition("r.user_name = $user", {"user": user})
    params = where.params | {"start": start_ms, "end": end_ms}
    return int(cur.scalar(fill(_OF_USER, waiting=_WAITING, where=where.sql), params))


def unjudged_by(
    cur: Cursor, viewer: Viewer, window: Window, where: Filter, by: Literal["user", "account"]
) -> Counter[str | None]:
    """Returns how many runs of each person or account that meet the window the rules have not seen as they are."""
    wanted = visible(viewer) & of_runs_on_places(where)
    params = wanted.params | {"start": window.start_ms, "end": window.end_ms}
    found: Counter[str | None] = Counter()
    for user, account, runs in cur.tuples(fill(_BY_HOLDER, waiting=_WAITING, where=wanted.sql), params):
        found[user if by == "user" else account] += runs
    return found
