"""The overview: hours now and before, the change where comparable, and the sentence that says it."""

from typing import Final

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries import findings
from analytics.queries.comparison import Change, NotComparable, active_share_pct, comparison, idle_share_pct
from analytics.queries.findings import RuleTotal
from analytics.queries.hours import Hours, hours, hours_and_before
from analytics.queries.notes import breaks
from analytics.queries.site import Kind, site
from analytics.wording import format_gpu_h, format_pct, number_gpu_h, plural, share_pct, words
from store.database import Cursor


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """``change`` is None while the data does not reach back over the period before.

    Shares are None on less than 10 GPU-hours: allocated of capacity that was not offline; active, low and idle of the
    measured hours; effective of the measured hours.
    """

    sentence: str
    hours: Hours
    change: Change | NotComparable | None
    allocated_share_pct: float | None
    active_share_pct: float | None
    low_share_pct: float | None
    idle_share_pct: float | None
    effective_share_pct: float | None


NAMED_RATIO: Final = 0.1
"""Part of the idle hours that one kind of finding has to explain before the sentence names it."""

_UNSUMMED: Final = "SELECT count(*) FROM dirty_hour WHERE hour_ms >= $1 AND hour_ms < $2"


def summary(cur: Cursor, viewer: Viewer, window: Window, where: Filter, *, count: bool = True) -> Summary:
    """Returns what the overview says of the window; without ``count`` runs, users and GPUs are not counted."""
    store = site(cur)
    before = window.before()
    reaches_back = store.data_from_ms is not None and store.data_from_ms <= before.start_ms
    # Hours that came in and are not summed yet would look like a change.
    if reaches_back and not cur.scalar(_UNSUMMED, [before.start_ms, before.end_ms]):
        now, earlier = hours_and_before(cur, viewer, window, where, count=count)
        change = comparison(now, earlier, breaks(cur, before.start_ms, window.end_ms))
    else:
        now, change = hours(cur, viewer, window, where, count=count), None
    return Summary(
        sentence=headline(now, change, store.kind, findings.largest(cur, viewer, window, where)),
        hours=now,
        change=change,
        allocated_share_pct=share_pct(now.held_gpu_h, available_gpu_h(now)),
        active_share_pct=active_share_pct(now),
        low_share_pct=share_pct(now.low_gpu_h, now.measured_gpu_h),
        idle_share_pct=idle_share_pct(now),
        effective_share_pct=share_pct(now.effective_gpu_h, now.measured_gpu_h),
    )


def available_gpu_h(hours: Hours) -> float | None:
    """Returns the capacity that was not offline: what could be allocated."""
    return None if hours.capacity_gpu_h is None else hours.capacity_gpu_h - (hours.offline_gpu_h or 0.0)


def headline(
    hours: Hours, change: Change | NotComparable | None, kind: Kind = "slurm", largest: RuleTotal | None = None
) -> str:
    """Returns the one sentence that answers the overview's question; ``largest`` explains the most idle hours."""
    window = hours.provenance.window
    noun = words(kind)
    to_ms = hours.provenance.data_to_ms
    if to_ms is None or to_ms <= window.start_ms:
        return "Nothing was recorded in this period."
    if hours.held_gpu_h == 0:
        return f"No {noun.run} held a GPU in this period: every GPU was {noun.unallocated}."
    if hours.measured_gpu_h == 0:
        return f"{format_gpu_h(hours.held_gpu_h)} were held and none could be measured, so none is called idle."
    idle = idle_share_pct(hours)
    share = f" ({format_pct(idle)})" if idle is not None else ""
    text = (
        f"{number_gpu_h(hours.idle_gpu_h)} of {number_gpu_h(hours.measured_gpu_h)} measured GPU-hours{share} were idle"
    )
    if isinstance(change, Change):
        text += f", {_step(change.idle_gpu_h, change.before.idle_gpu_h)}"
    elif isinstance(change, NotComparable):
        text += f"; {change.sentence}"
    # A share of little would be read as a cause.
    if largest is not None and idle is not None and largest.gpu_h >= NAMED_RATIO * hours.idle_gpu_h:
        text += f"; {number_gpu_h(largest.gpu_h)} of them in {plural(largest.count, noun.run)}: “{largest.title}”"
    if hours.missing_gpu_h > 0 and (hours.coverage or 0) < 0.8:
        text += f"; {format_gpu_h(hours.missing_gpu_h)} more were not measured"
    return text + "."


def _step(change: float, before: float) -> str:
    if number_gpu_h(abs(change)) == "0" or number_gpu_h(before + change) == number_gpu_h(before):
        return "as in the same span before"
    return f"{number_gpu_h(abs(change))} GPU-hours {'more' if change > 0 else 'fewer'} than in the same span before"
