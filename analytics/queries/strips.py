"""A run's life in one line: at most 48 parts, each with what its GPUs did, as shares of their time."""

from collections import defaultdict
from typing import Final

import msgspec

from analytics.model import HOUR_MS, MINUTE_MS, State
from analytics.queries.scope import fill
from store.database import Cursor
from store.minutes import minutes

PARTS: Final = 48
HOURS_FROM_MS: Final = 24 * HOUR_MS
"""A longer run is told well enough by its hours: minutes of many days are sixty times as many rows to look through."""


class StripPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a strip, ``ms`` long. Neighbours in one and the same state throughout are one part.

    ``mix`` shares the part's ms out over states as the run's GPUs shared their time; ``state`` has the largest share.
    """

    state: str
    ms: int
    mix: dict[str, int]


class _Life(msgspec.Struct, frozen=True):
    run_key: int
    start_ms: int
    end_ms: int


class _Bucket(msgspec.Struct, frozen=True):
    run_key: int
    part: int
    active: int
    low: int
    idle_held: int
    idle: int
    unknown: int


_LIVES: Final = """
    SELECT run_key, start_ms, greatest(start_ms, coalesce(end_ms, $data_to)) AS end_ms FROM run
    WHERE run_key IN (SELECT unnest($run_keys))"""

_BUCKETS: Final = """
    WITH life AS (SELECT unnest($keys) AS run_key, unnest($starts) AS start_ms, unnest($steps) AS step_ms),
    part AS (
        SELECT h.run_key, (h.{bucket} - l.start_ms + {bucket_ms} // 2) // l.step_ms AS part,
            {sums}
        FROM {table} h JOIN life l ON l.run_key = h.run_key
        WHERE h.{bucket} >= $from_ms AND h.{bucket} < $to_ms GROUP BY ALL)
    SELECT * REPLACE (CAST(greatest(0, part) AS BIGINT) AS part) FROM part ORDER BY run_key, part"""

_STATES: Final = tuple(state.value for state in (State.ACTIVE, State.LOW, State.IDLE_HELD, State.IDLE, State.UNKNOWN))
"""From top to bottom; of equal amounts the first is the larger: unknown is said only where it is the largest."""

_SUMS: Final = ", ".join(f"CAST(sum(h.{state}_ms) AS BIGINT) AS {state}" for state in _STATES)


def strips(cur: Cursor, run_keys: list[int], data_to_ms: int) -> dict[int, list[StripPart]]:
    """Returns the strip of each run from its start to its end, or to ``data_to_ms`` while it runs."""
    if not run_keys:
        return {}
    lives = cur.rows(_LIVES, {"run_keys": run_keys, "data_to": data_to_ms}, _Life)
    short = [life for life in lives if not _by_hour(life)]
    long = [life for life in lives if _by_hour(life)]
    from_ms = min((life.start_ms for life in short), default=0) - MINUTE_MS
    with minutes(cur, from_ms, max((life.end_ms for life in short), default=0) + 1):
        buckets = _buckets(cur, short, "minutes", "minute_ms", MINUTE_MS)
    buckets |= _buckets(cur, long, "gpu_hour", "hour_ms", HOUR_MS)
    return {life.run_key: _strip(life, buckets.get(life.run_key, {})) for life in lives}


def _by_hour(life: _Life) -> bool:
    return life.end_ms - life.start_ms > HOURS_FROM_MS


def _step(life: _Life) -> int:
    unit = HOUR_MS if _by_hour(life) else MINUTE_MS
    return max(unit, -(-(life.end_ms - life.start_ms) // PARTS))


def _buckets(
    cur: Cursor, lives: list[_Life], table: str, bucket: str, bucket_ms: int
) -> dict[int, dict[int, dict[str, int]]]:
    if not lives:
        return {}
    params = {
        "keys": [life.run_key for life in lives],
        "starts": [life.start_ms for life in lives],
        "steps": [_step(life) for life in lives],
        "from_ms": min(life.start_ms for life in lives) - bucket_ms,
        "to_ms": max(life.end_ms for life in lives) + 1,
    }
    found: dict[int, dict[int, dict[str, int]]] = defaultdict(dict)
    statement = fill(_BUCKETS, sums=_SUMS, table=table, bucket=bucket, bucket_ms=str(bucket_ms))
    for row in cur.rows(statement, params, _Bucket):
        found[row.run_key][row.part] = {state: getattr(row, state) for state in _STATES}
    return found


def _strip(life: _Life, buckets: dict[int, dict[str, int]]) -> list[StripPart]:
    """Parts from start to end; where no row tells, the state is unknown."""
    step = _step(life)
    parts: list[StripPart] = []
    for index, start in enumerate(range(life.start_ms, life.end_ms, step)):
        part = _part(buckets.get(index, {}), min(step, life.end_ms - start))
        if parts and parts[-1].mix.keys() == part.mix.keys() == {part.state}:
            ms = parts[-1].ms + part.ms
            parts[-1] = StripPart(state=part.state, ms=ms, mix={part.state: ms})
        else:
            parts.append(part)
    return parts


def _part(sums: dict[str, int], ms: int) -> StripPart:
    total = sum(sums.values())
    if not total:
        return StripPart(state=State.UNKNOWN.value, ms=ms, mix={State.UNKNOWN.value: ms})
    shares = {state: ms * amount // total for state, amount in sums.items()}
    largest = max(_STATES, key=lambda state: sums[state])
    shares[largest] += ms - sum(shares.values())
    return StripPart(state=largest, ms=ms, mix={state: share for state, share in shares.items() if share})
