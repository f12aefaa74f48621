"""What came in from the nodes: segments received, late, refused, and what they held that nobody knows."""

from typing import Final

import msgspec

from analytics.model import HOUR_MS
from store.database import Cursor


class Arrivals(msgspec.Struct, frozen=True):
    """Of the last 24 hours, but ``unknown_columns`` of all time: columns of a newer agent that the hub keeps aside."""

    segments: int
    late: int
    refused: int
    reasons: list[str]
    unknown_columns: list[str]


_SEGMENTS: Final = """
    SELECT coalesce(sum(segments), 0)::BIGINT, coalesce(sum(late), 0)::BIGINT
    FROM arrival WHERE minute_ms > $since - 60000"""

_REFUSED: Final = """
    SELECT count(*), coalesce(list(DISTINCT reason ORDER BY reason), []) FROM quarantine WHERE received_ms > $since"""

_UNKNOWN: Final = "SELECT coalesce(list(name ORDER BY name), []) FROM unknown_column"


def arrivals(cur: Cursor, now_ms: int) -> Arrivals:
    """Returns what came in during the 24 hours before ``now_ms``."""
    since = {"since": now_ms - 24 * HOUR_MS}
    segments, late = cur.tuples(_SEGMENTS, since)[0]
    refused, reasons = cur.tuples(_REFUSED, since)[0]
    return Arrivals(segments, late, refused, reasons[:10], cur.scalar(_UNKNOWN))
