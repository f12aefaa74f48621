"""GPUs that Slurm's inventory counts and no collector has shown: by the hour, how many and what Slurm says of them."""

from collections.abc import Sequence
from typing import Final

import msgspec

from analytics.model import HOUR_MS, Filter, Window
from analytics.queries.pieces import WEIGHT
from analytics.queries.roots import ROOTS
from analytics.queries.scope import ALWAYS, Condition, fill
from store.database import Cursor
from store.schema import NODE_WORD_MS
from store.spare import STRANDED, words

_TOLD: Final = f"""
    SELECT count(*) FROM (SELECT 1 FROM node_state
        WHERE at_ms > $low - {NODE_WORD_MS} AND at_ms < $high AND gpus > 0 LIMIT 1)"""  # noqa: S608 - a constant

# Most nodes report every GPU that they have: they fall away before anything is put in order or cut into hours.
_UNREPORTED: Final = f"""
    WITH known AS (
        SELECT n.cluster, n.name, list(o.weight) AS weights, list(o.first_ms) AS firsts, list(o.until_ms) AS untils,
            CAST(sum(o.weight) AS BIGINT) AS weight, max(o.first_ms) AS last_first_ms, min(o.until_ms) AS first_until_ms
        FROM ({{roots}}) AS o JOIN node n ON n.node_key = o.node_key GROUP BY n.cluster, n.name),
    apart AS MATERIALIZED (
        SELECT s.cluster, s.name FROM node_state s LEFT JOIN known k ON k.cluster = s.cluster AND k.name = s.name
        WHERE s.at_ms > $low - {NODE_WORD_MS} AND s.at_ms < $high AND s.gpus > 0 AND {{places}}
        GROUP BY s.cluster, s.name
        HAVING max(s.gpu_units) > coalesce(max(k.weight), 0) OR min(s.at_ms) < max(k.last_first_ms)
            OR max(s.at_ms) + {NODE_WORD_MS} > min(k.first_until_ms)),
    word AS (
        SELECT s.*, k.weights, k.firsts, k.untils, greatest(s.at_ms, $low) AS from_ms, least(s.to_ms, $high) AS until_ms
        FROM ({words("SEMI JOIN apart USING (cluster, name)")}) AS s
            LEFT JOIN known k ON k.cluster = s.cluster AND k.name = s.name
        WHERE s.gpus > 0 AND s.to_ms > $low),
    part AS (SELECT unnest($part_starts) AS part_ms, unnest($part_ends) AS part_end_ms),
    hour AS (
        SELECT w.*, part_ms, greatest(w.from_ms, w.hour * {HOUR_MS}, part_ms) AS a_ms,
            least(w.until_ms, (w.hour + 1) * {HOUR_MS}, part_end_ms) AS b_ms
        FROM (SELECT *, unnest(range(from_ms // {HOUR_MS}, (until_ms - 1) // {HOUR_MS} + 1)) AS hour FROM word) w
            JOIN part ON part_ms < w.until_ms AND part_end_ms > w.from_ms),
    seen AS (
        SELECT *, b_ms - a_ms AS ms, coalesce(list_sum(list_transform(list_zip(weights, firsts, untils),
            lambda each: each[1] * greatest(0, least(b_ms, each[3]) - greatest(a_ms, each[2])))), 0) AS known
        FROM hour WHERE b_ms > a_ms),
    counted AS (
        SELECT *, CAST(greatest(0, gpu_units * ms - known) AS BIGINT) AS total,
            CAST(greatest(0, gpu_units * coalesce(gpus_used, 0) // gpus * ms - known) AS BIGINT) AS in_use
        FROM seen),
    split AS (
        SELECT *, CASE WHEN standing = 'offline' THEN 0 ELSE least(total, in_use) END AS taken,
            CASE WHEN standing = 'offline' THEN 'offline' WHEN standing = 'reserved' THEN 'reserved'
                WHEN {STRANDED} THEN 'stranded' ELSE 'free' END AS rest
        FROM counted WHERE total > 0)
    SELECT greatest(hour * {HOUR_MS}, part_ms) AS at_ms,
        CAST(sum(total) AS BIGINT) AS total, CAST(sum(taken) AS BIGINT) AS taken, {{kinds}}
    FROM split
    GROUP BY hour, part_ms ORDER BY at_ms"""  # noqa: S608 - constants

# Planning the statement above takes longer than this whole one, and mostly there is nothing to say.
_IS_MISSED: Final = f"""
    WITH known AS (
        SELECT n.cluster, n.name, CAST(sum({{weight}}) AS BIGINT) AS weight, max(g.first_ms) AS last_first_ms
        FROM gpu g JOIN node n ON n.node_key = g.node_key
        WHERE g.parent_uuid IS NULL OR g.parent_uuid NOT IN (SELECT uuid FROM gpu) GROUP BY n.cluster, n.name),
    word AS (
        SELECT cluster, name, max(gpu_units) AS units, min(at_ms) AS first_ms FROM node_state
        WHERE gpus > 0 AND at_ms > $low - {NODE_WORD_MS} AND at_ms < $high GROUP BY cluster, name)
    SELECT count(*) FROM word w LEFT JOIN known k ON k.cluster = w.cluster AND k.name = w.name
    WHERE k.weight IS NULL OR w.units > k.weight OR w.first_ms < k.last_first_ms"""  # noqa: S608 - constants

_TYPE_OF_MODEL: Final = """s.gpu_type IN (
    SELECT w.gpu_type FROM node_state w JOIN node n ON n.name = w.name AND n.cluster = w.cluster
        JOIN gpu g ON g.node_key = n.node_key WHERE g.model = $model)"""


class Unreported(msgspec.Struct, frozen=True):
    """From ``at_ms`` on, within its hour, weight x ms: ``total = taken + offline + reserved + stranded + free``."""

    at_ms: int
    total: int
    taken: int
    offline: int
    reserved: int
    stranded: int
    free: int


def is_told(cur: Cursor, window: Window, end_ms: int) -> bool:
    """Returns whether Slurm's inventory says anything of a window."""
    return bool(cur.scalar(_TOLD, {"low": window.start_ms, "high": end_ms}))


def unreported(cur: Cursor, window: Window, where: Filter, end_ms: int, cuts: Sequence[int] = ()) -> list[Unreported]:
    """Returns the GPUs that only Slurm counts, by hour; no row lies across a moment of ``cuts``.

    Under a filter on a model those of the types that nodes with that model have.
    """
    span = {"low": window.start_ms, "high": end_ms}
    if not cur.once(fill(_IS_MISSED, weight=WEIGHT), span)[0][0]:
        return []
    # Rows are of hours, so only cuts within one cut a row.
    starts = sorted({window.start_ms, *(cut for cut in cuts if cut % HOUR_MS and window.start_ms < cut < end_ms)})
    places = ALWAYS
    if where.cluster is not None:
        places &= Condition("s.cluster = $cluster", {"cluster": where.cluster})
    if where.node is not None:
        places &= Condition("s.name = $node", {"node": where.node})
    if where.model is not None:
        places &= Condition(_TYPE_OF_MODEL, {"model": where.model})
    kinds = ", ".join(
        f"CAST(coalesce(sum(total - taken) FILTER (rest = '{kind}'), 0) AS BIGINT) AS {kind}"
        for kind in ("offline", "reserved", "stranded", "free")
    )
    params = (
        span
        | {
            "part_starts": starts,
            "part_ends": [*starts[1:], end_ms],
        }
        | places.params
    )
    return cur.rows(fill(_UNREPORTED, roots=ROOTS, places=places.sql, kinds=kinds), params, Unreported)
