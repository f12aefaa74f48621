"""What devices were used for, and what of it lies beyond the capacity known: for capacity.py, by bucket of time."""

from collections.abc import Sequence
from typing import Final

import msgspec

from analytics.model import HOUR_MS, Filter, Window
from analytics.queries.coarse import By, parted, sum_rows
from analytics.queries.pieces import WEIGHT, WHOLE
from analytics.queries.rollup import floor, rollup
from analytics.queries.roots import ROOTS, UNTOLD_ROOTS
from analytics.queries.scope import Condition, fill, of_places
from store.database import Cursor

_KNOWN: Final = """
    SELECT g.gpu_key, coalesce(p.gpu_key, g.gpu_key) AS root_key, {weight} AS weight, g.first_ms, o.until_ms
    FROM gpu g JOIN node n ON n.node_key = g.node_key LEFT JOIN gpu p ON p.uuid = g.parent_uuid
        JOIN ({roots}) AS o ON o.gpu_key = coalesce(p.gpu_key, g.gpu_key)
    WHERE {known}"""

KINDS: Final = ("releasing", "offline", "taken", "reserved", "stranded")

# Per bucket: what was held, stray or spare, and how much of it lies beyond the capacity known there. Of single devices
# only one sum is taken: with all of them DuckDB took nearly twice as long.
_USED: Final = """
    WITH device AS MATERIALIZED ({devices}),
    told AS MATERIALIZED (
        SELECT h.at_ms, h.bucket_ms, coalesce(d.root_key, 0) AS root_key,
            h.held_ms * coalesce(d.weight, $whole) AS held, h.stray_ms * coalesce(d.weight, $whole) AS stray,
            coalesce(h.suspended_ms, 0) * coalesce(d.weight, $whole) AS suspended, NULL AS kind, 0 AS units
        FROM ({rollup}) AS h LEFT JOIN device d ON d.gpu_key = h.gpu_key {places} WHERE {used}
        UNION ALL
        SELECT h.at_ms, h.bucket_ms, d.root_key, 0, 0, 0, h.kind, h.units
        FROM ({spare}) AS h JOIN device d ON d.gpu_key = h.gpu_key AND h.at_ms < d.until_ms),
    whole AS (
        SELECT at_ms, CAST(sum(held) AS BIGINT) AS held, CAST(sum(suspended) AS BIGINT) AS suspended,
            CAST(coalesce(sum(held + suspended) FILTER (root_key = 0), 0) AS BIGINT) AS unplaced,
            CAST(sum(stray) AS BIGINT) AS stray, {kinds}
        FROM told GROUP BY at_ms),
    each AS (
        SELECT at_ms, bucket_ms, root_key, sum(held + suspended + stray + units) AS used
        FROM told WHERE root_key <> 0 GROUP BY ALL),
    more AS (
        SELECT e.at_ms, e.used - coalesce(d.weight
            * greatest(0, least(e.at_ms + e.bucket_ms, $end, d.until_ms) - greatest(e.at_ms, d.first_ms)), 0) AS beyond
        FROM each e LEFT JOIN device d ON d.gpu_key = e.root_key),
    over AS (SELECT at_ms, CAST(sum(beyond) AS BIGINT) AS beyond FROM more WHERE beyond > 0 GROUP BY at_ms)
    SELECT w.*, coalesce(o.beyond, 0) AS beyond FROM whole w LEFT JOIN over o USING (at_ms) ORDER BY at_ms"""

_PLACES: Final = """
            LEFT JOIN node n ON n.node_key = h.node_key LEFT JOIN run r ON r.run_key = h.run_key
            LEFT JOIN gpu g ON g.gpu_key = h.gpu_key"""

# The sums know devices of constant capacity alone, whole buckets long. What they say of others is put right from the
# rows of these: those that came or went within the window, and all in the hour that is not over yet.
_BY_SUMS: Final = """
    SELECT h.at_ms, CAST(sum(h.held_ms * g.weight) AS BIGINT) AS held,
        CAST(sum(h.suspended_ms * g.weight) AS BIGINT) AS suspended,
        CAST(coalesce(sum((h.held_ms + h.suspended_ms) * g.weight) FILTER (NOT g.placed), 0) AS BIGINT) AS unplaced,
        CAST(sum(h.stray_ms * g.weight) AS BIGINT) AS stray, {kinds},
        CAST(sum(h.over_units) AS BIGINT) AS beyond
    FROM ({rows}) AS h JOIN gpu_class g ON g.class_key = h.class_key {joins} WHERE {wanted}
    GROUP BY h.at_ms ORDER BY h.at_ms"""

_PUT_RIGHT: Final = """
    WITH device AS MATERIALIZED ({devices}),
    odd AS (
        SELECT d.gpu_key, d.weight, r.gpu_key AS root_key, r.weight AS whole, r.first_ms, r.until_ms
        FROM device d JOIN device r ON r.gpu_key = d.root_key
        WHERE $all OR r.first_ms > $start OR r.until_ms < $end),
    told AS (
        SELECT h.at_ms, h.bucket_ms, d.root_key, NULL AS kind,
            (h.held_ms + h.stray_ms + coalesce(h.suspended_ms, 0)) * d.weight AS units
        FROM ({rollup}) AS h JOIN odd d ON d.gpu_key = h.gpu_key
        UNION ALL
        SELECT h.at_ms, h.bucket_ms, d.root_key, h.kind, h.units
        FROM ({spare}) AS h JOIN odd d ON d.gpu_key = h.gpu_key),
    each AS (
        SELECT t.at_ms, t.bucket_ms, t.root_key, d.whole, d.first_ms, d.until_ms, sum(units) AS units,
            sum(units) FILTER (kind IS NULL OR t.at_ms < d.until_ms) AS counted, {gone}
        FROM told t JOIN odd d ON d.gpu_key = t.root_key GROUP BY ALL)
    SELECT at_ms, 0 AS held, 0 AS suspended, 0 AS unplaced, 0 AS stray, {kinds},
        CAST(sum(greatest(0, counted - whole * greatest(0,
            least(at_ms + bucket_ms, $end, until_ms) - greatest(at_ms, first_ms)))
            - greatest(0, units - whole * bucket_ms)) AS BIGINT) AS beyond
    FROM each GROUP BY at_ms ORDER BY at_ms"""


class Used(msgspec.Struct, frozen=True):
    """What became of the devices from ``at_ms`` on for one bucket, and what of it lies beyond the known capacity.

    ``unplaced`` is what of ``held`` and ``suspended`` is on GPUs that only accounting counts.
    """

    at_ms: int
    held: int
    suspended: int
    unplaced: int
    stray: int
    releasing: int
    offline: int
    taken: int
    reserved: int
    stranded: int
    beyond: int


def devices_on(where: Filter, *, told: bool) -> Condition:
    """Returns a SELECT of the devices and instances on places, with their root and when they count."""
    condition = of_places(where)
    if where.cluster is not None:
        condition &= Condition("n.cluster = $cluster", {"cluster": where.cluster})
    statement = fill(_KNOWN, weight=WEIGHT, roots=ROOTS if told else UNTOLD_ROOTS, known=condition.sql)
    return Condition(statement, condition.params)


def used(
    cur: Cursor,
    window: Window,
    where: Filter,
    devices: Condition,
    end_ms: int,
    *,
    minutes: bool = False,
    cuts: Sequence[int] = (),
) -> list[Used]:
    """Returns the use of each bucket from the rows of single GPUs."""
    condition = of_places(where)
    if where.cluster is not None:
        condition &= Condition("coalesce(r.cluster, n.cluster) = $cluster", {"cluster": where.cluster})
    rows = rollup(window, ("held_ms", "stray_ms", "suspended_ms"), minutes=minutes, cuts=cuts)
    spare = rollup(window, ("units",), minutes=minutes, cuts=cuts, table="spare")
    params = {"whole": WHOLE, "end": end_ms} | rows.params | spare.params | condition.params | devices.params
    statement = fill(
        _USED,
        kinds=_each_kind("CAST(coalesce(sum(units) FILTER (kind = '{kind}'), 0) AS BIGINT) AS {kind}"),
        places=_PLACES if condition.params else "",
        devices=devices.sql,
        rollup=rows.sql,
        spare=spare.sql,
        used=condition.sql,
    )
    return cur.rows(statement, params, Used)


def used_by_sums(
    cur: Cursor,
    window: Window,
    where: Filter,
    devices: Condition,
    end_ms: int,
    *,
    cuts: Sequence[int] = (),
    changed: bool,
) -> list[Used] | None:
    """Returns the same from the sums, the buckets being hours and days; None where these do not tell it.

    ``changed``: devices came or went within the window.
    """
    inside, *ends = parted(cur, window)
    if inside is None:
        return None
    found = _by_sums(cur, inside, where, cuts, by_day=True)
    if found is not None and any(row.unplaced for row in found):
        # What only accounting counts is told from what is free hour by hour.
        found = _by_sums(cur, inside, where, cuts, by_day=False)
    if found is None:
        return None
    for end in ends:
        found += used(cur, end, where, devices, end_ms, cuts=cuts)
    window, last_ms = inside, min(floor(end_ms, HOUR_MS), inside.end_ms)
    if changed:
        before = msgspec.structs.replace(window, end_ms=last_ms)
        found += _put_right(cur, before, devices, end_ms, all_=False) if before.hours > 0 else []
    if last_ms < min(end_ms, inside.end_ms):
        begun = msgspec.structs.replace(window, start_ms=max(last_ms, window.start_ms))
        found += _put_right(cur, begun, devices, end_ms, all_=True)
    return found


def _by_sums(cur: Cursor, window: Window, where: Filter, cuts: Sequence[int], *, by_day: bool) -> list[Used] | None:
    by: By = "node"
    condition, joins = of_places(where), ""
    if where.node is not None:
        joins += " JOIN node n ON n.node_key = h.node_key"
    if where.cluster is not None:
        if where.node is not None:
            return None
        by, joins = "holder", " JOIN holder r ON r.holder_key = h.holder_key"
        condition &= Condition("r.cluster = $cluster", {"cluster": where.cluster})
    columns = ("held_ms", "suspended_ms", "stray_ms", "over_units", *(f"{kind}_units" for kind in KINDS))
    rows = sum_rows(cur, window, columns, by, cuts=cuts, by_day=by_day)
    if rows is None:
        return None
    kinds = _each_kind("CAST(sum(h.{kind}_units) AS BIGINT) AS {kind}")
    statement = fill(_BY_SUMS, kinds=kinds, rows=rows.sql, joins=joins, wanted=condition.sql)
    return cur.rows(statement, rows.params | condition.params, Used)


def _put_right(cur: Cursor, window: Window, devices: Condition, end_ms: int, *, all_: bool) -> list[Used]:
    rows = rollup(window, ("held_ms", "stray_ms", "suspended_ms"))
    spare = rollup(window, ("units",), table="spare")
    statement = fill(
        _PUT_RIGHT,
        gone=_each_kind("sum(units) FILTER (kind = '{kind}' AND t.at_ms >= d.until_ms) AS {kind}"),
        kinds=_each_kind("CAST(-coalesce(sum({kind}), 0) AS BIGINT) AS {kind}"),
        devices=devices.sql,
        rollup=rows.sql,
        spare=spare.sql,
    )
    params = {"all": all_, "start": window.start_ms, "end": end_ms} | rows.params | spare.params | devices.params
    return cur.rows(statement, params, Used)


def _each_kind(sql: str) -> str:
    return ", ".join(sql.replace("{kind}", kind) for kind in KINDS)
