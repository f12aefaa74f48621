"""What our probes ask slurmctld, the one daemon that a whole cluster waits for."""

from typing import Final

from analytics.model import HOUR_MS, MINUTE_MS
from store.database import Cursor

MOST_PER_MIN: Final = 2.0
"""What the product may ask a cluster, whatever its size (docs/adr/0006)."""
_DAY_MS: Final = 24 * HOUR_MS

# A poll of the queue is one request; readings of the inventory say how many they were.
_ASKED: Final = """
    SELECT CAST(sum(requests) AS BIGINT), min(at_ms) FROM (
        SELECT requests, at_ms FROM slurm_request WHERE at_ms > $since AND at_ms <= $now
        UNION ALL SELECT 1, at_ms FROM queue_poll WHERE at_ms > $since AND at_ms <= $now)"""


def requests_per_min(cur: Cursor, now_ms: int) -> float | None:
    """Returns the mean number of requests a minute over the last day, or since the first; None where none was made."""
    [(requests, first_ms)] = cur.tuples(_ASKED, {"since": now_ms - _DAY_MS, "now": now_ms})
    return None if requests is None else requests * MINUTE_MS / max(now_ms - first_ms, HOUR_MS)
