"""What came in from the nodes: segments received, late, refused, and what they held that nobody knows."""

from typing import Final

import msgspec

from analytics.model import HOUR_MS, MINUTE_MS
from store.database import Cursor

LATE_MS: Final = 15 * MINUTE_MS
"""A segment that arrives longer after its last row than this is late: its node had waited for the hub."""


class Arrivals(msgspec.Struct, frozen=True):
    """Of the last 24 hours, but ``unknown_columns`` of all time: columns of a newer agent that the hub keeps aside."""

    segments: int
    late: int
    refused: int
    reasons: list[str]
    unknown_columns: list[str]


_SEGMENTS: Final = """
    SELECT count(*), count(*) FILTER (received_ms - last_ms > $late) FROM segment WHERE received_ms > $since"""

_REFUSED: Final = """
    SELECT count(*), coalesce(list(DISTINCT reason ORDER BY reason), []) FROM quarantine WHERE received_ms > $since"""

_UNKNOWN: Final = """
    SELECT coalesce(list_sort(list(DISTINCT trim(name))), [])
    FROM (SELECT unnest(string_split(unknown_columns, ',')) AS name FROM segment WHERE unknown_columns <> '')"""


def arrivals(cur: Cursor, now_ms: int) -> Arrivals:
    """Returns what came in during the 24 hours before ``now_ms``."""
    since = {"since": now_ms - 24 * HOUR_MS}
    segments, late = cur.tuples(_SEGMENTS, since | {"late": LATE_MS})[0]
    refused, reasons = cur.tuples(_REFUSED, since)[0]
    return Arrivals(segments, late, refused, reasons[:10], cur.scalar(_UNKNOWN))
