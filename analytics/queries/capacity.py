"""What there was to hold: every known GPU from the moment it was first seen, and what of it nobody held.

A MIG instance is a part of its parent, so capacity is counted by whole devices (roots) and what instances hold is taken
from their parent. Where more was held in an hour than a device's capacity there, or on a device that no node has shown,
the device existed nonetheless and its capacity is what was held: ``capacity = held + stray + unallocated``, exactly.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from analytics.model import MINUTE_MS, Filter, Window
from analytics.queries.pieces import WEIGHT, WHOLE
from analytics.queries.rollup import floor, rollup
from analytics.queries.scope import Condition, fill, of_places
from store.database import Cursor

_KNOWN: Final = """
    SELECT g.gpu_key, coalesce(p.gpu_key, g.gpu_key) AS root_key, {weight} AS weight, g.first_ms
    FROM gpu g JOIN node n ON n.node_key = g.node_key LEFT JOIN gpu p ON p.uuid = g.parent_uuid
    WHERE {known}"""

_ROOTS: Final = """
    SELECT first_ms, CAST(sum(weight) AS BIGINT) AS weight FROM ({devices}) WHERE root_key = gpu_key
    GROUP BY first_ms ORDER BY first_ms"""

# Per bucket: what was held and stray, and how much of it lies beyond the capacity known there.
_USED: Final = """
    WITH device AS MATERIALIZED ({devices}),
    used AS (
        SELECT h.at_ms, h.bucket_ms, coalesce(d.root_key, 0) AS root_key,
            CAST(sum(h.held_ms * coalesce(d.weight, $whole)) AS BIGINT) AS held,
            CAST(sum(h.stray_ms * coalesce(d.weight, $whole)) AS BIGINT) AS stray
        FROM ({rollup}) AS h LEFT JOIN device d ON d.gpu_key = h.gpu_key {places}
        WHERE {used} GROUP BY ALL)
    SELECT u.at_ms, CAST(sum(u.held) AS BIGINT) AS held, CAST(sum(u.stray) AS BIGINT) AS stray,
        CAST(sum(greatest(0, u.held + u.stray - coalesce(d.weight
            * greatest(0, least(u.at_ms + u.bucket_ms, $end) - greatest(u.at_ms, d.first_ms)), 0))) AS BIGINT) AS beyond
    FROM used u LEFT JOIN device d ON d.gpu_key = u.root_key
    GROUP BY u.at_ms ORDER BY u.at_ms"""


_PLACES: Final = """
            LEFT JOIN node n ON n.node_key = h.node_key LEFT JOIN run r ON r.run_key = h.run_key
            LEFT JOIN gpu g ON g.gpu_key = h.gpu_key"""


class Root(msgspec.Struct, frozen=True):
    """Whole devices first seen at the same moment, by their summed weight."""

    first_ms: int
    weight: int


class Used(msgspec.Struct, frozen=True):
    """What was held and stray from ``at_ms`` on for one bucket, and what of it lies beyond the known capacity."""

    at_ms: int
    held: int
    stray: int
    beyond: int


class Whole(msgspec.Struct, frozen=True):
    """What there was in a period, weight x ms: ``capacity = held + stray + unallocated``."""

    capacity: int
    stray: int
    unallocated: int


class Capacity(msgspec.Struct, frozen=True):
    """Known devices and the buckets in which something was used; all amounts are weight x ms."""

    roots: list[Root]
    used: list[Used]
    to_ms: int

    def known(self, start_ms: int, end_ms: int) -> int:
        """Returns the capacity of the known devices in [start_ms, end_ms), up to the data's end."""
        end_ms = min(end_ms, self.to_ms)
        return sum(root.weight * max(0, end_ms - max(start_ms, root.first_ms)) for root in self.roots)

    def within(self, start_ms: int, end_ms: int) -> Whole:
        """Returns what there was in [start_ms, end_ms), from the buckets that begin there."""
        held = stray = beyond = 0
        for bucket in self.used:
            if floor(start_ms, MINUTE_MS) <= bucket.at_ms < end_ms:
                held, stray, beyond = held + bucket.held, stray + bucket.stray, beyond + bucket.beyond
        total = self.known(start_ms, end_ms) + beyond
        return Whole(total, stray, total - held - stray)


def capacity(
    cur: Cursor,
    window: Window,
    where: Filter,
    data_to_ms: int,
    *,
    minutes: bool = False,
    cuts: Sequence[int] = (),
) -> Capacity:
    """Returns devices and use of a window for a filter on places (cluster, model, node) only, up to the data's end.

    No bucket lies across a moment of ``cuts``.
    """
    known, used = of_places(where), of_places(where)
    if where.cluster is not None:
        known &= Condition("n.cluster = $cluster", {"cluster": where.cluster})
        used &= Condition("coalesce(r.cluster, n.cluster) = $cluster", {"cluster": where.cluster})
    devices = fill(_KNOWN, weight=WEIGHT, known=known.sql)
    rows = rollup(window, ("held_ms", "stray_ms"), minutes=minutes, cuts=cuts)
    params = {"whole": WHOLE, "end": min(window.end_ms, data_to_ms)} | rows.params | used.params | known.params
    places = _PLACES if used.params else ""
    found = cur.rows(fill(_USED, devices=devices, rollup=rows.sql, places=places, used=used.sql), params, Used)
    return Capacity(cur.rows(fill(_ROOTS, devices=devices), known.params, Root), found, data_to_ms)
