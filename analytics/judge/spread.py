"""The hours in which a finding's idle time lies, so that a week counts its own part of a run that reaches beyond it."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from analytics.judge.decide import Decision
from analytics.model import HOUR_MS
from store.database import Cursor

_SCHEMA: Final = pa.schema(
    [
        *(("number", pa.int64()), ("run_key", pa.int64()), ("rule", pa.string()), ("gpu_key", pa.int64())),
        *(("from_ms", pa.int64()), ("to_ms", pa.int64()), ("gpu_ms", pa.int64())),
        *(("between", pa.bool_()), ("busy", pa.bool_())),
    ]
)

# A finding that closed on a running run keeps its hours; those of a run that is over are given away anew.
_CLEAR: Final = """
DELETE FROM finding_hour
WHERE run_key IN (SELECT unnest($finished)) OR (run_key, rule) IN (SELECT (run_key, rule) FROM new_finding)"""

# Each part goes to its hours by time where it is busy, else by the idle time that the hours had within it, and where no
# hour is known to have had any, as before the first rollup, by time as well. Sums are taken over integers and the last
# hour gets what is left.
_SPREAD: Final = f"""
INSERT INTO finding_hour BY NAME
WITH part AS (
    SELECT *, unnest(range(from_ms // {HOUR_MS} * {HOUR_MS}, to_ms, {HOUR_MS})) AS hour_ms
    FROM new_part SEMI JOIN run USING (run_key)),
rolled AS (
    SELECT run_key, gpu_key, hour_ms, sum(held_ms)::BIGINT AS held_ms, sum(idle_ms + idle_held_ms)::BIGINT AS idle_ms
    FROM gpu_hour WHERE run_key IN (SELECT run_key FROM new_part) GROUP BY ALL),
known AS (
    SELECT part.*, least(to_ms, hour_ms + {HOUR_MS}) - greatest(from_ms, hour_ms) AS over_ms,
           coalesce(held_ms, 0) AS held_ms, coalesce(idle_ms, 0) AS idle_ms
    FROM part LEFT JOIN rolled USING (run_key, gpu_key, hour_ms)),
idle AS (
    SELECT *, greatest(0, least(over_ms, CASE WHEN busy THEN over_ms
                                              WHEN between THEN idle_ms - greatest(0, held_ms - over_ms)
                                              ELSE idle_ms END)) AS part_ms
    FROM known),
weighed AS (
    SELECT *, CASE WHEN sum(part_ms) OVER (PARTITION BY number) > 0 THEN part_ms ELSE over_ms END AS weight
    FROM idle),
upto AS (
    SELECT *, gpu_ms::HUGEINT * sum(weight) OVER (PARTITION BY number ORDER BY hour_ms)::HUGEINT
              // sum(weight) OVER (PARTITION BY number)::HUGEINT AS upto_ms
    FROM weighed),
each AS (
    SELECT run_key, rule, hour_ms, upto_ms - lag(upto_ms, 1, 0) OVER (PARTITION BY number ORDER BY hour_ms) AS each_ms
    FROM upto)
SELECT run_key, rule, hour_ms, sum(each_ms)::BIGINT AS gpu_ms FROM each
GROUP BY ALL HAVING sum(each_ms) > 0"""  # noqa: S608 - a constant


def spread(cur: Cursor, decisions: Sequence[Decision]) -> None:
    """Writes ``finding_hour`` of these runs anew, within the transaction that keeps the findings."""
    parts = [(one.run.run_key, rule, taken) for one in decisions for rule, taken in one.taken]
    rows = [
        {
            "number": number,
            "run_key": run_key,
            "rule": rule,
            **{name: getattr(taken, name) for name in _SCHEMA.names[3:]},
        }
        for number, (run_key, rule, taken) in enumerate(parts)
    ]
    cur.execute(_CLEAR, {"finished": [one.run.run_key for one in decisions if one.run.finished]})
    with cur.table("new_part", pa.Table.from_pylist(rows, schema=_SCHEMA)):
        cur.execute(_SPREAD)
