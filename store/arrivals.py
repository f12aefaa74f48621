"""How many segments came in, minute by minute, and which of their columns nobody here knows."""

from collections.abc import Sequence
from typing import Final

from store.database import Cursor
from store.parsed import Parsed

MINUTE_MS: Final = 60_000
LATE_MS: Final = 15 * MINUTE_MS
"""A segment that arrives longer after its last row than this is late: its node had waited for the hub."""
KEPT_MS: Final = 32 * 86_400_000


def keep(cursor: Cursor, items: Sequence[Parsed], received_ms: int) -> None:
    """Counts segments that came in at ``received_ms``."""
    late = sum(received_ms - item.last_ms > LATE_MS for item in items)
    cursor.execute(
        """
        INSERT INTO arrival VALUES ($1, $2, $3, $4) ON CONFLICT DO UPDATE SET
            segments = segments + excluded.segments, rows = rows + excluded.rows, late = late + excluded.late""",
        [received_ms // MINUTE_MS * MINUTE_MS, len(items), sum(item.rows.count for item in items), late],
    )
    if names := sorted({name for item in items for name in item.rows.unknown}):
        cursor.execute("INSERT OR IGNORE INTO unknown_column SELECT unnest($1::VARCHAR[])", [names])


def forget(cursor: Cursor, now_ms: int) -> None:
    """Removes what is older than anybody asks for."""
    cursor.execute("DELETE FROM arrival WHERE minute_ms < $1", [now_ms - KEPT_MS])
