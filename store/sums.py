"""Sums over GPUs and runs by the hour and the day: of each node, and of each holder over all nodes.

They follow from the rows of single GPUs alone, key by key and with what is known of runs and GPUs now, so computing
them again gives equal rows. Days are days of the site's zone; where one begins within an hour of UTC, its part of that
hour comes from the minutes.
"""

from typing import Final, Literal

import pyarrow as pa

from store import minutes
from store.columns import HOUR_MS, from_tuples
from store.database import Cursor
from store.days import Day, days
from store.holders import HOLDER_OF_RUN, NOBODY_OF_NODE, keep_classes, keep_holders
from store.schema import UNPLACED
from store.schema_sums import SPARE_UNITS, SUMMED

Bucket = Literal["hour", "minute"]
By = Literal["node", "holder"]

BY: Final[tuple[By, ...]] = ("node", "holder")
ZONE: Final = "zone"
"""Key in table meta of the zone whose days the sums have."""

_TABLE: Final[dict[Bucket, str]] = {"hour": "gpu_hour", "minute": "minutes"}
_LENGTH_MS: Final[dict[Bucket, int]] = {"hour": HOUR_MS, "minute": 60_000}
_DAY_HOUR: Final = pa.schema([(name, pa.int64()) for name in ("hour_ms", "from_ms", "to_ms", "day_ms", "end_ms")])
_CUT: Final = pa.schema({"hour_ms": pa.int64()})
_OF_HELD: Final = (
    *("held_ms", "suspended_ms", "active_ms", "low_ms", "idle_held_ms", "idle_ms", "unknown_ms", "unmeasurable_ms"),
    *("parked_ms", "util_pct_sum", "util_pct_ms", "sm_active_pct_sum", "sm_active_pct_ms"),
)

_FIGURES: Final = ", ".join(
    [
        *(f"coalesce(sum({name}), 0)::BIGINT AS {name}" for name in SUMMED),
        "sum(energy)::BIGINT AS energy",
        "coalesce(bool_or(energy_estimated), FALSE) AS energy_estimated",
    ]
)
_RUN: Final = "h.run_key IS NOT NULL"
_ROWS: Final = f"""
    SELECT h.{{bucket}}_ms AS at_ms, h.node_key, h.gpu_key, h.run_key, c.class_key,
        {", ".join(f"CASE WHEN {_RUN} THEN h.{name} END AS {name}" for name in _OF_HELD)},
        CASE WHEN {_RUN} AND coalesce(h.sm_active_pct_ms, 0) = 0 THEN h.power_w_ms END AS power_only_ms,
        h.stray_ms, CASE WHEN h.run_key IS NULL THEN greatest(0, h.covered_ms - h.stray_ms) END AS unheld_ms,
        CASE WHEN {_RUN} THEN coalesce(h.energy_j_sum::BIGINT * 10000, h.power_w_sum) END AS energy,
        {_RUN} AND h.energy_j_sum IS NULL AND h.power_w_sum IS NOT NULL AS energy_estimated
    FROM {{table}} h JOIN gpu_classed c USING (gpu_key) {{which}}"""  # noqa: S608 - constants

_SPARE: Final = f"""
    SELECT h.{{bucket}}_ms AS at_ms, h.node_key, h.gpu_key, c.class_key,
        {", ".join(f"CASE WHEN h.kind = '{name.removesuffix('_units')}' THEN h.units END AS {name}" for name in SPARE_UNITS)}
    FROM spare_{{bucket}} h JOIN gpu_classed c USING (gpu_key) {{which}}"""  # noqa: S608, E501 - constants

# A MIG instance is a part of its parent, and what instances are used for is used of it.
_OVER: Final = f"""
    SELECT u.at_ms, u.node_key, k.class_key, u.units - c.weight * {{length}} AS over_units
    FROM (
        SELECT at_ms, node_key, coalesce(root.gpu_key, u.gpu_key) AS root_key, sum(units)::BIGINT AS units
        FROM (
            SELECT r.at_ms, r.node_key, r.gpu_key,
                (coalesce(r.held_ms, 0) + coalesce(r.suspended_ms, 0) + r.stray_ms) * c.weight AS units
            FROM row r JOIN gpu_class c USING (class_key) WHERE r.gpu_key <> {UNPLACED}
            UNION ALL
            SELECT at_ms, node_key, gpu_key, coalesce({", ".join(SPARE_UNITS)}) FROM spare) AS u
        LEFT JOIN (
            SELECT g.gpu_key AS part_key, p.gpu_key FROM gpu g JOIN gpu p ON p.uuid = g.parent_uuid) AS root
            ON root.part_key = u.gpu_key
        GROUP BY ALL) AS u
        JOIN gpu_classed k ON k.gpu_key = u.root_key JOIN gpu_class c ON c.class_key = k.class_key
    WHERE u.units > c.weight * {{length}}"""  # noqa: S608 - constants

_BY_NODE: Final = "SELECT * EXCLUDE (run_key) FROM told"
_BY_HOLDER: Final = f"""
    SELECT told.* EXCLUDE (node_key, run_key), coalesce(h.holder_key, n.holder_key) AS holder_key
    FROM told LEFT JOIN ({HOLDER_OF_RUN}) AS h ON h.run_key = told.run_key
        LEFT JOIN ({NOBODY_OF_NODE}) AS n ON n.node_key = told.node_key"""  # noqa: S608 - constants

_BY: Final[dict[By, str]] = {"node": _BY_NODE, "holder": _BY_HOLDER}


def _summed(by: By, bucket: Bucket, which: str) -> str:
    """Returns a SELECT of at_ms, the key, class_key and the figures; ``which`` joins or limits the rows ``h``."""
    of_bucket = {"bucket": bucket, "table": _TABLE[bucket], "which": which}
    return f"""
    WITH row AS MATERIALIZED ({_ROWS.format(**of_bucket)}), spare AS MATERIALIZED ({_SPARE.format(**of_bucket)}),
    told AS (
        SELECT * EXCLUDE (gpu_key) FROM row UNION ALL BY NAME SELECT * EXCLUDE (gpu_key) FROM spare
        UNION ALL BY NAME {_OVER.format(length=_LENGTH_MS[bucket])})
    SELECT at_ms, {by}_key, class_key, {_FIGURES} FROM ({_BY[by]}) GROUP BY at_ms, {by}_key, class_key
    """  # noqa: S608 - constants


_LATE: Final = """
    CREATE OR REPLACE TEMP TABLE late_sum AS SELECT * FROM dirty_sum ORDER BY hour_ms DESC, node_key LIMIT $1"""
_WORK: Final = """
    CREATE OR REPLACE TEMP TABLE sum_work AS
    SELECT hour_ms, node_key FROM work UNION SELECT hour_ms, node_key FROM late_sum"""

# $low and $high bound the hours, so that most of a table is passed over by its statistics.
_BETWEEN: Final = "WHERE h.hour_ms >= $low AND h.hour_ms < $high"
_WHICH: Final[dict[By, str]] = {
    "node": f"SEMI JOIN sum_work w ON w.hour_ms = h.hour_ms AND w.node_key = h.node_key {_BETWEEN}",
    "holder": f"{_BETWEEN} AND h.hour_ms IN (SELECT hour_ms FROM sum_work)",  # noqa: S608
}
_GONE: Final[dict[By, str]] = {
    "node": "DELETE FROM node_hour h USING sum_work w WHERE h.hour_ms = w.hour_ms AND h.node_key = w.node_key",
    "holder": "DELETE FROM holder_hour WHERE hour_ms IN (SELECT hour_ms FROM sum_work)",
}
_HOLDING: Final = """
    CREATE OR REPLACE TEMP TABLE holding AS SELECT DISTINCT run_key FROM gpu_hour
    WHERE hour_ms >= $low AND hour_ms < $high AND run_key IS NOT NULL AND hour_ms IN (SELECT hour_ms FROM {})"""

# Of an hour in which a day begins the minutes say what belongs to which: table ``cut``.
_WHICH_CUT: Final = """SEMI JOIN cut ON cut.hour_ms <= h.minute_ms AND cut.hour_ms > h.minute_ms - 3600000 {nodes}
    WHERE h.minute_ms >= $low AND h.minute_ms < $high"""
_NODES: Final = "SEMI JOIN day_node w ON w.node_key = h.node_key"
_DAY_NODE: Final = """
    CREATE OR REPLACE TEMP TABLE day_node AS
    SELECT DISTINCT d.day_ms, w.node_key FROM sum_work w JOIN day_hour d ON d.hour_ms = w.hour_ms"""
_DAYS_GONE: Final[dict[By, str]] = {
    "node": "DELETE FROM node_day d USING day_node w WHERE d.day_ms = w.day_ms AND d.node_key = w.node_key",
    "holder": "DELETE FROM holder_day WHERE day_ms IN (SELECT day_ms FROM day_node)",
}
_TOUCHED: Final[dict[By, str]] = {
    "node": "SEMI JOIN day_node w ON w.day_ms = d.day_ms AND w.node_key = h.node_key",
    "holder": "SEMI JOIN day_node w ON w.day_ms = d.day_ms",
}


def recompute(cursor: Cursor, zone: str, limit: int) -> int:
    """Recomputes the sums of the (hour, node) in the table ``work`` and of at most ``limit`` others that are marked.

    Returns the number of those others.
    """
    late = cursor.execute(_LATE, [limit])
    if cursor.execute(_WORK):
        hours = _hours(cursor)
        _recompute_hours(cursor, hours)
        _recompute_days(cursor, hours, zone)
    if late:
        cursor.execute(
            "DELETE FROM dirty_sum d USING late_sum l "
            "WHERE d.hour_ms = l.hour_ms AND d.node_key = l.node_key AND d.gen = l.gen"
        )
    return late


_MARK_SPAN: Final = """
    INSERT OR IGNORE INTO dirty_sum
    SELECT hour_ms, node_key, 0 FROM gpu_hour WHERE hour_ms >= $low AND hour_ms < $high
    UNION SELECT hour_ms, node_key, 0 FROM spare_hour WHERE hour_ms >= $low AND hour_ms < $high"""
_NO_WORK: Final = pa.schema({"hour_ms": pa.int64(), "node_key": pa.int32()})
EVERY: Final = 1 << 40
"""More than there can be to do."""


def make(cursor: Cursor, zone: str, from_ms: int, to_ms: int) -> None:
    """Makes the sums of the hours in [from_ms, to_ms) for rows of single GPUs that were written by themselves."""
    keep_classes(cursor)
    cursor.execute(_MARK_SPAN, {"low": from_ms, "high": to_ms})
    with cursor.table("work", _NO_WORK.empty_table()):
        recompute(cursor, zone, EVERY)


def follow_zone(cursor: Cursor, zone: str | None) -> str:
    """Makes all days anew where the site's zone is another than last time; returns it. None: that of last time."""
    known: str | None = cursor.scalar("SELECT value FROM meta WHERE key = $1", [ZONE])
    zone = zone or known or "UTC"
    if known == zone:
        return zone
    cursor.execute("INSERT OR REPLACE INTO meta VALUES ($1, $2)", [ZONE, zone])
    if known is not None:
        cursor.execute("TRUNCATE node_day")
        cursor.execute("TRUNCATE holder_day")
        cursor.execute("CREATE OR REPLACE TEMP TABLE sum_work AS SELECT DISTINCT hour_ms, node_key FROM node_hour")
        _recompute_days(cursor, _hours(cursor), zone)
    return zone


def _hours(cursor: Cursor) -> list[int]:
    return [hour for (hour,) in cursor.tuples("SELECT DISTINCT hour_ms FROM sum_work ORDER BY hour_ms")]


def _recompute_hours(cursor: Cursor, hours: list[int]) -> None:
    span = {"low": hours[0], "high": hours[-1] + HOUR_MS}
    cursor.execute(_HOLDING.format("sum_work"), span)
    keep_holders(cursor)
    for by in BY:
        cursor.execute(_GONE[by])
        cursor.execute(f"INSERT INTO {by}_hour {_summed(by, 'hour', _WHICH[by])} ORDER BY ALL", span)


def _recompute_days(cursor: Cursor, hours: list[int], zone: str) -> None:
    touched = sorted({day for hour in hours for day in days(hour, hour + HOUR_MS, zone)})
    if not touched:
        return
    minutes_from = minutes.first_ms(cursor)
    parts = [part for day in touched for part in _parts(day, minutes_from)]
    cut = sorted({part[0] for part in parts if part[2] - part[1] < HOUR_MS})
    span = {"low": min(part[0] for part in parts), "high": max(part[0] for part in parts) + HOUR_MS}
    with (
        cursor.table("day_hour", from_tuples(parts, _DAY_HOUR)),
        cursor.table("cut", from_tuples([(hour,) for hour in cut], _CUT)),
    ):
        cursor.execute(_DAY_NODE)
        if cut:
            cursor.execute(_HOLDING.format("cut"), span)
        with minutes.minutes(cursor, span["low"], span["high"]):
            for by in BY:
                cursor.execute(_DAYS_GONE[by])
                cursor.execute(_day_sql(by, cut=bool(cut)), span)


def _parts(day: Day, minutes_from: int | None) -> list[tuple[int, int, int, int, int]]:
    """Returns (hour, from, to, begin and end of the day) for each hour of a day.

    An hour whose minutes are kept no more belongs whole to the day in which it begins.
    """
    parts = []
    for hour in range(day.start_ms // HOUR_MS * HOUR_MS, day.end_ms, HOUR_MS):
        start, end = max(hour, day.start_ms), min(hour + HOUR_MS, day.end_ms)
        if end - start < HOUR_MS and (minutes_from is None or hour < minutes_from):
            start, end = hour, hour + HOUR_MS
            if hour < day.start_ms:
                continue
        parts.append((hour, start, end, day.start_ms, day.end_ms))
    return parts


def _day_sql(by: By, *, cut: bool) -> str:
    part = f"""
        SELECT d.day_ms, d.end_ms, h.* FROM {by}_hour h
            JOIN day_hour d ON d.hour_ms = h.hour_ms {_TOUCHED[by]} ANTI JOIN cut ON cut.hour_ms = h.hour_ms
        {_BETWEEN}"""  # noqa: S608 - constants
    if cut:
        which = _WHICH_CUT.format(nodes=_NODES if by == "node" else "")
        part += f"""
        UNION ALL BY NAME
        SELECT d.day_ms, d.end_ms, h.* FROM ({_summed(by, "minute", which)}) AS h
            JOIN day_hour d ON h.at_ms >= d.from_ms AND h.at_ms < d.to_ms {_TOUCHED[by]}"""  # noqa: S608
    return f"""
    INSERT INTO {by}_day SELECT day_ms, end_ms, {by}_key, class_key, {_FIGURES} FROM ({part})
    GROUP BY day_ms, end_ms, {by}_key, class_key ORDER BY ALL"""  # noqa: S608 - constants
