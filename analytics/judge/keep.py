"""Decisions into the tables ``finding`` and ``unjudged``, so that a finding keeps its number for its whole life."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from analytics.judge.decide import Decision, Found, Unjudged
from analytics.judge.spread import spread
from store.database import Cursor

_TYPES: Final[dict[Any, pa.DataType]] = {int: pa.int64(), float: pa.float64(), str: pa.string()}

_KEEP: Final = """
INSERT INTO finding BY NAME
SELECT nextval('finding_ids') AS finding_id, new_finding.*, $now_ms::BIGINT AS found_ms, NULL::BIGINT AS closed_ms
FROM new_finding SEMI JOIN run USING (run_key) ORDER BY run_key, rule -- accounting may have joined two runs meanwhile
ON CONFLICT (run_key, rule) DO UPDATE SET
    rule_version = excluded.rule_version, start_ms = excluded.start_ms, end_ms = excluded.end_ms,
    gpu_ms = excluded.gpu_ms, confidence = excluded.confidence, coverage = excluded.coverage, title = excluded.title,
    sentence = excluded.sentence, fix = excluded.fix, numbers = excluded.numbers, thresholds = excluded.thresholds,
    closed_ms = NULL"""

# While a run lasts, what no longer holds is closed, says so and keeps its hours. When the run is over its hours are
# given away anew: idle_now, which only ever speaks of now, stays as a record without hours; any other finding that is
# not found again was overtaken by later data and goes.
_OVER: Final = " That is over."
_NOT_AGAIN: Final = "(run_key, rule) NOT IN (SELECT (run_key, rule) FROM new_finding)"
_CLOSE_RUNNING: Final = f"""
UPDATE finding SET closed_ms = $now_ms, sentence = sentence || $over
WHERE closed_ms IS NULL AND run_key IN (SELECT unnest($running)) AND {_NOT_AGAIN}"""  # noqa: S608 - a constant
_CLOSE_FINISHED: Final = f"""
UPDATE finding SET closed_ms = coalesce(closed_ms, $now_ms), gpu_ms = 0,
       sentence = CASE WHEN closed_ms IS NULL THEN sentence || $over ELSE sentence END
WHERE rule IN (SELECT unnest($passing)) AND run_key IN (SELECT unnest($finished)) AND {_NOT_AGAIN}"""  # noqa: S608
_DROP_FINISHED: Final = f"""
DELETE FROM finding
WHERE rule NOT IN (SELECT unnest($passing)) AND run_key IN (SELECT unnest($finished)) AND {_NOT_AGAIN}"""  # noqa: S608


def keep(cur: Cursor, decisions: Sequence[Decision], passing: Sequence[str], now_ms: int) -> None:
    """Writes what was decided on these runs and nothing else; ``passing`` are the rules of running runs alone."""
    run_keys = [decision.run.run_key for decision in decisions]
    asked = {
        "now_ms": now_ms,
        "over": _OVER,
        "passing": list(passing),
        "running": [decision.run.run_key for decision in decisions if not decision.run.finished],
        "finished": [decision.run.run_key for decision in decisions if decision.run.finished],
    }
    found = _table(Found, [found for decision in decisions for found in decision.found])
    unjudged = _table(Unjudged, [unjudged for decision in decisions for unjudged in decision.unjudged])
    with (
        cur.table("new_finding", found),
        cur.table("new_unjudged", unjudged),
        cur.transaction(),
    ):
        for statement in (_CLOSE_RUNNING, _CLOSE_FINISHED, _DROP_FINISHED, _KEEP):
            cur.execute(statement, {name: asked[name] for name in asked if f"${name}" in statement})
        spread(cur, decisions)
        cur.execute("DELETE FROM unjudged WHERE run_key IN (SELECT unnest($1))", [run_keys])
        cur.execute("INSERT INTO unjudged BY NAME SELECT * FROM new_unjudged SEMI JOIN run USING (run_key)")
        cur.execute("UPDATE footprint_run SET judged = TRUE WHERE run_key IN (SELECT unnest($1))", [run_keys])


def _table(kind: type[msgspec.Struct], rows: Sequence[msgspec.Struct]) -> pa.Table:
    fields = msgspec.structs.fields(kind)
    schema = pa.schema([(field.name, _TYPES[field.type]) for field in fields])
    return pa.table({field.name: [getattr(row, field.name) for row in rows] for field in fields}, schema=schema)
