"""When a run was suspended, from what polls of the queue said of it.

Slurm counts how long a run had run when it was last suspended, and that number stays the same until it is suspended
again. So it names the suspension: one poll may tell when it began, another when it ended, and whoever tells the end
tells how long all of them together were.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import msgspec

from store.identity import Run
from store.segment import LiveRun

SUSPENDED: Final = "SUSPENDED"


class Suspension(msgspec.Struct):
    """A row of table ``suspension``: what was told of it, and the stretch that follows, open where ``end_ms`` is None.

    ``start_ms`` is None while it cannot be told.
    """

    told_start_ms: int | None = None
    told_end_ms: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None


Suspensions = dict[int, Suspension]
"""By how many seconds the run had run before."""


def note(known: Suspensions, live: LiveRun) -> None:
    """Takes in what one poll says of a run."""
    if live.turned_ms is None or live.ran_s is None:
        return
    told = known.setdefault(live.ran_s, Suspension())
    if live.state == SUSPENDED:
        told.told_start_ms = _earlier(told.told_start_ms, live.turned_ms)
    else:
        told.told_end_ms = _earlier(told.told_end_ms, live.turned_ms)


def merge(kept: Suspensions, other: Suspensions) -> None:
    """Takes in what was told of the same run under another key."""
    for ran_s, told in other.items():
        known = kept.setdefault(ran_s, Suspension())
        known.told_start_ms = _earlier(known.told_start_ms, told.told_start_ms)
        known.told_end_ms = _earlier(known.told_end_ms, told.told_end_ms)


def settle(run: Run, known: Suspensions) -> None:
    """Works out the stretches; what accounting says in the end closes one whose end no poll has seen."""
    order = sorted(known)
    suspended_ms = 0
    for ran_s, next_ran_s in pairwise([*order, None]):
        assert ran_s is not None  # noqa: S101 - only the last one is
        one = known[ran_s]
        begins_ms = run.start_ms + ran_s * 1000 + suspended_ms
        one.end_ms = one.told_end_ms
        one.start_ms = begins_ms if one.told_start_ms is None else one.told_start_ms
        if one.end_ms is None and next_ran_s is not None:
            following = known[next_ran_s].told_start_ms
            one.end_ms = None if following is None else following - (next_ran_s - ran_s) * 1000
        elif one.end_ms is None and run.is_final and run.suspended_ms is not None:
            one.end_ms = one.start_ms + run.suspended_ms - suspended_ms
        if one.end_ms is None and next_ran_s is not None:
            one.end_ms = one.start_ms  # it went on, nobody can say when
        if one.end_ms is not None:
            one.end_ms = max(one.start_ms, one.end_ms)
            suspended_ms += one.end_ms - one.start_ms
    if order and not run.is_final:
        run.suspended_ms = max(run.suspended_ms or 0, suspended_ms)


def stretches(known: Suspensions) -> set[tuple[int, int | None]]:
    """Returns the stretches that are not empty."""
    return {
        (one.start_ms, one.end_ms) for one in known.values() if one.start_ms is not None and one.start_ms != one.end_ms
    }


def changed(old: Suspensions, new: Suspensions) -> Iterator[tuple[int, int | None]]:
    """Yields the stretches that only one of the two has."""
    yield from stretches(old) ^ stretches(new)


def _earlier(one: int | None, other: int | None) -> int | None:
    return min((moment for moment in (one, other) if moment is not None), default=None)
