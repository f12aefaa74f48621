"""What came in from the nodes: segments received, late, refused, and what they held that nobody knows."""

from typing import Final

import msgspec

from analytics.model import HOUR_MS
from analytics.wording import plural
from store.database import Cursor


class Arrivals(msgspec.Struct, frozen=True):
    """Of the last 24 hours, but ``unknown_columns`` of all time: columns of a newer agent that the hub keeps aside.

    ``reasons`` say for how many segments each, where it is more than one; the most frequent come first.
    """

    segments: int
    late: int
    refused: int
    reasons: list[str]
    unknown_columns: list[str]


_SEGMENTS: Final = """
    SELECT coalesce(sum(segments), 0)::BIGINT, coalesce(sum(late), 0)::BIGINT
    FROM arrival WHERE minute_ms > $since - 60000"""

_REFUSED: Final = """
    SELECT reason, count(*) FROM quarantine WHERE received_ms > $since GROUP BY reason ORDER BY count(*) DESC, reason"""

_UNKNOWN: Final = "SELECT coalesce(list(name ORDER BY name), []) FROM unknown_column"


def arrivals(cur: Cursor, now_ms: int) -> Arrivals:
    """Returns what came in during the 24 hours before ``now_ms``."""
    since = {"since": now_ms - 24 * HOUR_MS}
    segments, late = cur.tuples(_SEGMENTS, since)[0]
    refused = cur.tuples(_REFUSED, since)
    reasons = [reason if count == 1 else f"{reason} ({plural(count, 'segment')})" for reason, count in refused[:10]]
    return Arrivals(segments, late, sum(count for _, count in refused), reasons, cur.scalar(_UNKNOWN))
