"""A run's life in one line: at most 48 parts, each in the state that most of its GPUs had for most of the time."""

from collections import defaultdict
from typing import Final

import msgspec

from analytics.model import HOUR_MS, MINUTE_MS, State
from analytics.queries.scope import fill
from store.database import Cursor

PARTS: Final = 48


class StripPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a strip: the state that most of the run's GPUs had for ``ms``. Equal neighbours are one part."""

    state: str
    ms: int


class _Life(msgspec.Struct, frozen=True):
    run_key: int
    start_ms: int
    end_ms: int


class _Bucket(msgspec.Struct, frozen=True):
    run_key: int
    part: int
    state: str


_LIVES: Final = """
    SELECT run_key, start_ms, greatest(start_ms, coalesce(end_ms, $data_to)) AS end_ms FROM run
    WHERE list_contains($run_keys, run_key)"""

# Of equal amounts the first counts: what is not known is said only where it is the largest.
_BUCKETS: Final = """
    WITH life AS (SELECT unnest($keys) AS run_key, unnest($starts) AS start_ms, unnest($steps) AS step_ms),
    part AS (
        SELECT h.run_key, (h.{bucket} - l.start_ms + {bucket_ms} // 2) // l.step_ms AS part,
            sum(h.active_ms) AS active, sum(h.low_ms) AS low, sum(h.idle_held_ms) AS idle_held, sum(h.idle_ms) AS idle,
            sum(h.unknown_ms) AS unknown
        FROM {table} h JOIN life l ON l.run_key = h.run_key
        WHERE h.{bucket} >= $from_ms AND h.{bucket} < $to_ms AND list_contains($keys, h.run_key) GROUP BY ALL)
    SELECT run_key, CAST(greatest(0, part) AS BIGINT) AS part,
        CASE greatest(active, low, idle_held, idle, unknown) WHEN active THEN 'active' WHEN low THEN 'low'
            WHEN idle_held THEN 'idle_held' WHEN idle THEN 'idle' ELSE 'unknown' END AS state
    FROM part ORDER BY run_key, part"""


def strips(cur: Cursor, run_keys: list[int], data_to_ms: int) -> dict[int, list[StripPart]]:
    """Returns the strip of each run from its start to its end, or to ``data_to_ms`` while it runs."""
    if not run_keys:
        return {}
    lives = cur.rows(_LIVES, {"run_keys": run_keys, "data_to": data_to_ms}, _Life)
    # A part shorter than an hour needs the minutes; a longer run is told well enough by its hours.
    short = [life for life in lives if life.end_ms - life.start_ms <= PARTS * HOUR_MS]
    long = [life for life in lives if life.end_ms - life.start_ms > PARTS * HOUR_MS]
    buckets = _buckets(cur, short, "gpu_minute", "minute_ms", MINUTE_MS)
    buckets |= _buckets(cur, long, "gpu_hour", "hour_ms", HOUR_MS)
    return {life.run_key: _strip(life, buckets.get(life.run_key, {})) for life in lives}


def _step(life: _Life) -> int:
    unit = MINUTE_MS if life.end_ms - life.start_ms <= PARTS * HOUR_MS else HOUR_MS
    return max(unit, -(-(life.end_ms - life.start_ms) // PARTS))


def _buckets(cur: Cursor, lives: list[_Life], table: str, bucket: str, bucket_ms: int) -> dict[int, dict[int, str]]:
    if not lives:
        return {}
    params = {
        "keys": [life.run_key for life in lives],
        "starts": [life.start_ms for life in lives],
        "steps": [_step(life) for life in lives],
        "from_ms": min(life.start_ms for life in lives) - bucket_ms,
        "to_ms": max(life.end_ms for life in lives) + 1,
    }
    found: dict[int, dict[int, str]] = defaultdict(dict)
    for row in cur.rows(fill(_BUCKETS, table=table, bucket=bucket, bucket_ms=str(bucket_ms)), params, _Bucket):
        found[row.run_key][row.part] = row.state
    return found


def _strip(life: _Life, states: dict[int, str]) -> list[StripPart]:
    """Parts from start to end; where no row tells, the state is unknown."""
    step = _step(life)
    parts: list[StripPart] = []
    for index, start in enumerate(range(life.start_ms, life.end_ms, step)):
        state, ms = states.get(index, State.UNKNOWN.value), min(step, life.end_ms - start)
        if parts and parts[-1].state == state:
            parts[-1] = StripPart(state=state, ms=parts[-1].ms + ms)
        else:
            parts.append(StripPart(state=state, ms=ms))
    return parts
