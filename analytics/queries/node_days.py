"""How the day of each node was: what its GPUs did in each part of a period, as shares of its GPUs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from analytics.model import HOUR_MS, State, Window
from analytics.queries.coarse import sum_rows
from analytics.queries.rollup import floor, rollup
from analytics.queries.scope import fill
from store.database import Cursor

MOST_PARTS: Final = 960
"""Parts of all lanes together: a trace of a chart has at most 1,000 points."""

_STEPS_H: Final = (1, 2, 3, 4, 6, 8, 12, 24, 48, 168, 336, 672)

STATES: Final = (
    State.ACTIVE, State.LOW, State.IDLE_HELD, State.IDLE, State.SUSPENDED, State.STRAY, State.UNALLOCATED,
    State.UNKNOWN,
)  # fmt: skip
"""In the order in which a part of a lane is filled, from below."""


class NodeLane(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes drawn as one lane. ``parts`` has, for each step of the period, GPU-ms by the places of STATES."""

    name: str
    parts: list[list[int]]


class NodeDays(msgspec.Struct, frozen=True, kw_only=True):
    """Lanes over [start_ms, end_ms) in steps of ``step_ms``; the last step may be shorter."""

    start_ms: int
    end_ms: int
    step_ms: int
    lanes: list[NodeLane]


# A row without a run is time that nobody held, as far as it was watched; what no row covers is unknown.
_UNHELD: Final = "sum(greatest(0, h.covered_ms - h.stray_ms)) FILTER (h.run_key IS NULL)"
_UNHELD_BY_SUMS: Final = "sum(h.unheld_ms)"

_SUMS: Final = """
    SELECT l.lane, (h.at_ms - $first) // $step AS part,
        CAST(sum(h.active_ms) AS BIGINT), CAST(sum(h.low_ms) AS BIGINT), CAST(sum(h.idle_held_ms) AS BIGINT),
        CAST(sum(h.idle_ms) AS BIGINT), CAST(sum(h.suspended_ms) AS BIGINT), CAST(sum(h.stray_ms) AS BIGINT),
        CAST({unheld} AS BIGINT)
    FROM ({rollup}) AS h JOIN node n ON n.node_key = h.node_key
        JOIN (SELECT unnest($nodes) AS name, unnest($lanes) AS lane) AS l ON l.name = n.name
    GROUP BY ALL"""

_STATES: Final = ("active_ms", "low_ms", "idle_held_ms", "idle_ms", "suspended_ms", "stray_ms")


def node_days(cur: Cursor, window: Window, groups: Mapping[str, Sequence[str]], gpus: Mapping[str, int]) -> NodeDays:
    """Returns one lane for each of ``groups`` (name -> its nodes) over the period; ``gpus`` has the GPUs of each node.

    What nobody is told of a person is not in it: states alone, no runs.
    """
    step_ms = _step(window, len(groups))
    first = floor(window.start_ms, HOUR_MS)
    count = -(-(window.end_ms - first) // step_ms)
    cuts = range(first, window.end_ms, step_ms)
    told = sum_rows(cur, window, (*_STATES, "unheld_ms"), "node", cuts=cuts)
    rows = told or rollup(window, (*_STATES, "covered_ms"), cuts=cuts)
    statement = fill(_SUMS, unheld=_UNHELD if told is None else _UNHELD_BY_SUMS, rollup=rows.sql)
    members = [(node, lane) for lane, nodes in groups.items() for node in nodes]
    places = {"nodes": [node for node, _ in members], "lanes": [lane for _, lane in members]}
    by_lane: dict[str, dict[int, list[int]]] = defaultdict(dict)
    for lane, part, *sums in cur.tuples(statement, rows.params | places | {"first": first, "step": step_ms}):
        by_lane[lane][part] = [value or 0 for value in sums]
    ends = [min(window.end_ms, first + (part + 1) * step_ms) for part in range(count)]
    lengths = [end - max(window.start_ms, first + part * step_ms) for part, end in enumerate(ends)]
    return NodeDays(
        start_ms=window.start_ms,
        end_ms=window.end_ms,
        step_ms=step_ms,
        lanes=[
            NodeLane(name=lane, parts=_parts(by_lane[lane], lengths, sum(gpus.get(node, 0) for node in nodes)))
            for lane, nodes in groups.items()
        ],
    )


def _step(window: Window, lanes: int) -> int:
    hours = window.hours
    return next((step for step in _STEPS_H if lanes * (hours / step + 1) <= MOST_PARTS), _STEPS_H[-1]) * HOUR_MS


def _parts(told: Mapping[int, list[int]], lengths: Sequence[int], gpus: int) -> list[list[int]]:
    nothing = [0] * (len(STATES) - 1)
    sums = [told.get(part, nothing) for part in range(len(lengths))]
    return [[*part, max(0, gpus * length - sum(part))] for part, length in zip(sums, lengths, strict=True)]
