"""Stretches of one state, merged and thinned for drawing."""

from collections import Counter
from itertools import pairwise
from typing import Final

import msgspec

from analytics.model import MINUTE_MS, State

KEPT_MS: Final = MINUTE_MS
"""An idle, suspended or unknown stretch of at least this length is always drawn."""

_KEPT: Final = frozenset({State.IDLE, State.IDLE_HELD, State.UNKNOWN, State.SUSPENDED})


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Half open [start_ms, end_ms) in one state; ``unknown`` is explicit."""

    state: str
    start_ms: int
    end_ms: int


def merge(stretches: list[Stretch]) -> list[Stretch]:
    """Returns the stretches with equal neighbours joined."""
    found: list[Stretch] = []
    for stretch in stretches:
        if found and found[-1].state == stretch.state and found[-1].end_ms == stretch.start_ms:
            found[-1] = msgspec.structs.replace(found[-1], end_ms=stretch.end_ms)
        else:
            found.append(stretch)
    return found


def overlaid(lane: list[Stretch], over: list[Stretch]) -> list[Stretch]:
    """Returns a lane with other stretches laid over it, within its own beginning and end; both are in order."""
    if not lane or not over:
        return lane
    found: list[Stretch] = []
    edges = sorted({edge for stretch in over for edge in (stretch.start_ms, stretch.end_ms)})
    for stretch in lane:
        cuts = [stretch.start_ms, *(edge for edge in edges if stretch.start_ms < edge < stretch.end_ms), stretch.end_ms]
        for start, end in pairwise(cuts):
            above = next((one for one in over if one.start_ms <= start < one.end_ms), stretch)
            found.append(Stretch(state=above.state, start_ms=start, end_ms=end))
    return merge(found)


def thin(lanes: list[list[Stretch]], most: int) -> tuple[int, list[list[Stretch]]]:
    """Returns the length below which stretches were merged, and the lanes with at most ``most`` stretches in all.

    Short stretches side by side become one in the state that most of them had. Idle and unknown stretches of a minute
    are never merged away, so there may be more where those alone are.
    """
    below_ms, thinned = 0, lanes
    while sum(map(len, thinned)) > most:
        below_ms = below_ms * 2 or 5_000
        fewer = [_thin(lane, below_ms) for lane in lanes]
        if below_ms > 1 << 36:  # longer than any run: nothing is left to merge
            return below_ms, fewer
        thinned = fewer
    return below_ms, thinned


def _thin(lane: list[Stretch], below_ms: int) -> list[Stretch]:
    found: list[Stretch] = []
    group: list[Stretch] = []
    for stretch in lane:
        length = stretch.end_ms - stretch.start_ms
        if length < below_ms and not (stretch.state in _KEPT and length >= KEPT_MS):
            group.append(stretch)
            continue
        found += _as_one(group)
        group = []
        found.append(stretch)
    return merge(found + _as_one(group))


def _as_one(group: list[Stretch]) -> list[Stretch]:
    if not group:
        return []
    lengths: Counter[str] = Counter()
    for stretch in group:
        lengths[stretch.state] += stretch.end_ms - stretch.start_ms
    state = lengths.most_common(1)[0][0]
    return [Stretch(state=state, start_ms=group[0].start_ms, end_ms=group[-1].end_ms)]
