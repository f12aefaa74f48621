"""Dated notes of time charts: pinned by administrators, and what the system itself saw change."""

from typing import Final

import msgspec
from ClusterShell.NodeSet import NodeSet

from analytics.in_force import SOFTWARE, STATES, VERSION
from analytics.model import HOUR_MS, Window
from analytics.wording import rule_title
from store.database import Cursor

MOST: Final = 40
"""Notes of a period that are shown, the newest; ``left_out`` of them counts the others."""
_NAMED: Final = 3


class ChartNote(msgspec.Struct, frozen=True, kw_only=True):
    """A note at a moment. ``kind`` is maintenance, policy, deadline, nodes, driver or thresholds.

    ``breaks``: the hours before and after it do not rest on the same thresholds, so no trend goes across it.
    """

    at_ms: int
    until_ms: int | None
    kind: str
    text: str
    who: str | None = None
    breaks: bool = False


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """In the order of time; ``left_out`` are older ones of the period that are not among them."""

    items: list[ChartNote]
    left_out: int


# The nodes of an installation begin one after the other on its first day: only later ones are new. Values that nothing
# came before are no change either.
_NOTES: Final = """
    SELECT at_ms, until_ms, kind, text AS name, who AS old, '' AS value FROM note
    WHERE at_ms < $end AND coalesce(until_ms, at_ms) >= $start
    UNION ALL SELECT first_ms, NULL, 'nodes', name, NULL, '' FROM node
    WHERE node_key <> 0 AND first_ms >= $start AND first_ms < $end
        AND first_ms >= (SELECT min(first_ms) FROM node WHERE node_key <> 0) + 86400000
    UNION ALL SELECT from_ms, NULL, 'driver', name, old, driver_version FROM (
        SELECT d.from_ms, n.name, d.driver_version,
            lag(d.driver_version) OVER (PARTITION BY d.node_key ORDER BY d.from_ms) AS old
        FROM node_driver d JOIN node n ON n.node_key = d.node_key)
    WHERE old <> driver_version AND from_ms >= $start AND from_ms < $end
    UNION ALL SELECT from_ms, NULL, 'thresholds', name, old, value FROM (
        SELECT from_ms, name, value, lag(value) OVER (PARTITION BY name ORDER BY from_ms) AS old FROM in_force)
    WHERE old IS NOT NULL AND from_ms >= $start AND from_ms < $end
    ORDER BY at_ms, name"""


_BREAKS: Final = """
    SELECT DISTINCT from_ms FROM (
        SELECT from_ms, lag(value) OVER (PARTITION BY name ORDER BY from_ms) AS old FROM in_force
        WHERE starts_with(name, $states))
    WHERE old IS NOT NULL AND from_ms >= $start AND from_ms < $end ORDER BY from_ms"""


class _Seen(msgspec.Struct, frozen=True):
    at_ms: int
    until_ms: int | None
    kind: str
    name: str
    old: str | None
    value: str


def notes(cur: Cursor, window: Window) -> Notes:
    """Returns the notes of the period: of the system one for what changed in the same hour in the same way."""
    groups: dict[tuple[object, ...], list[_Seen]] = {}
    for seen in cur.rows(_NOTES, {"start": window.start_ms, "end": window.end_ms}, _Seen):
        groups.setdefault(_alike(seen), []).append(seen)
    found = sorted((_note(group) for group in groups.values()), key=lambda note: note.at_ms)
    return Notes(items=found[-MOST:], left_out=max(0, len(found) - MOST))


def breaks(cur: Cursor, start_ms: int, end_ms: int) -> list[int]:
    """Returns when in [start_ms, end_ms) a threshold changed on which the hours in each state rest, in order."""
    params = {"states": STATES, "start": start_ms, "end": end_ms}
    return [at_ms for (at_ms,) in cur.tuples(_BREAKS, params)]


def _alike(seen: _Seen) -> tuple[object, ...]:
    if seen.kind == "nodes":
        return seen.kind, seen.at_ms // HOUR_MS
    if seen.kind == "driver":
        return seen.kind, seen.at_ms // HOUR_MS, seen.old, seen.value
    if seen.kind == "thresholds":
        return seen.kind, seen.at_ms
    return seen.kind, seen.at_ms, seen.name, seen.old


def _note(group: list[_Seen]) -> ChartNote:
    first = group[0]
    names = [seen.name for seen in group]
    match first.kind:
        case "nodes":
            text, who = f"new: {NodeSet.fromlist(names)}", None
        case "driver":
            text, who = f"driver {first.old} → {first.value} on {NodeSet.fromlist(names)}", None
        case "thresholds":
            more = f" and {len(group) - _NAMED} more" if len(group) > _NAMED else ""
            text, who = "; ".join(map(_changed, group[:_NAMED])) + more, None
        case _:
            text, who = first.name, first.old
    breaks = first.kind == "thresholds" and any(name.startswith(STATES) for name in names)
    return ChartNote(at_ms=first.at_ms, until_ms=first.until_ms, kind=first.kind, text=text, who=who, breaks=breaks)


def _changed(seen: _Seen) -> str:
    step = f"{seen.old or 'none'} → {seen.value or 'none'}"
    if seen.name == SOFTWARE:
        return f"GPU Ledger {step.replace(chr(34), '')}"
    if seen.name.endswith(VERSION):
        return f"“{rule_title(seen.name.removesuffix(VERSION))}” is judged in another way (version {step})"
    if len(step) > 60:
        return f"{seen.name} changed"
    return f"threshold {seen.name}: {step}"
