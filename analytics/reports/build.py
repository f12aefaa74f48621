"""Builds a report of one week for one scope from the named queries."""

import re
from typing import Final

import msgspec

from analytics.model import Viewer, Window
from analytics.queries import names
from analytics.queries.comparison import idle_share_pct
from analytics.queries.pending import pending
from analytics.queries.site import Site, site
from analytics.queries.summary import summary
from analytics.reports.model import Context, Report, Scope
from analytics.reports.registry import sections
from analytics.reports.weeks import last_complete_week, week_of
from analytics.site import SiteSettings
from analytics.wording import format_gpu_h, format_pct, local, words
from store.database import Cursor

_WEEK: Final = re.compile(r"\d{4}-W\d{2}")


class NoSuchWeek(ValueError):
    """A week that cannot be reported on; the message is one sentence with the next step."""


class NoSuchScope(ValueError):
    """Nobody bears the name of the scope; the message is one sentence with the names that are near."""


def build(cur: Cursor, viewer: Viewer, scope: Scope, week: str | None, settings: SiteSettings, made_ms: int) -> Report:
    """Returns the report of a week.

    Args:
        cur: the store.
        viewer: who asks.
        scope: whom it is about.
        week: such as ``2026-W48``; None takes the last complete week, else the week so far.
        settings: [site].
        made_ms: the moment it is made.

    Raises:
        NoSuchWeek: the label is none, or the store holds nothing of that week.
        NoSuchScope: no run that the viewer may see is of that user or account.
    """
    store = site(cur)
    window = _window(store, week, settings.zone)
    data_to_ms = store.data_to_ms or window.start_ms
    where = scope.filter()
    if strangers := names.unknown(cur, viewer, where):
        raise NoSuchScope(strangers[0])
    found = summary(cur, viewer, window, where)
    context = Context(
        cur=cur,
        viewer=viewer,
        scope=scope,
        window=window,
        where=where,
        site=settings,
        store=store,
        words=words(store.kind),
        summary=found,
        data_to_ms=data_to_ms,
        loading=pending(cur).sentence,
    )
    days = _days(window)
    return Report(
        scope=scope,
        week=window.label,
        window=window,
        partial=context.partial,
        title=f"{_whose(scope, settings)}, {days}{_recorded(store, window)}",
        subject=_subject(scope, context, days),
        data_to_ms=data_to_ms,
        made_ms=made_ms,
        synthetic=store.synthetic,
        sections=sections(context),
        figures=msgspec.to_builtins(found),
        site=settings,
        loading=context.loading,
    )


def _window(store: Site, week: str | None, zone: str) -> Window:
    if store.data_from_ms is None or store.data_to_ms is None:
        raise NoSuchWeek("Nothing was recorded yet, so there is no week to report on; start the collector first.")
    if week is None:
        week = last_complete_week(store.data_to_ms, zone)
        if Window.week(week, zone).end_ms <= store.data_from_ms:
            week = week_of(store.data_to_ms, zone)
    if not _WEEK.fullmatch(week):
        raise NoSuchWeek(f"{week!r} is not a week: write it as 2026-W48.")
    try:
        window = Window.week(week, zone)
    except ValueError as error:
        raise NoSuchWeek(f"There is no week {week}; a year has 52 or 53.") from error
    if window.start_ms >= store.data_to_ms or window.end_ms <= store.data_from_ms:
        first, last = (week_of(at, zone) for at in (store.data_from_ms, store.data_to_ms))
        raise NoSuchWeek(f"Nothing was recorded in {week}; there are weeks {first} to {last}.")
    return msgspec.structs.replace(window, end_ms=min(window.end_ms, store.data_to_ms))


def _days(window: Window) -> str:
    first, last = local(window.start_ms, window.zone), local(window.end_ms - 1, window.zone)
    if first.month == last.month:
        return f"{first.day}–{last.day} {last:%b %Y}"
    return f"{first.day} {first:%b} – {last.day} {last:%b %Y}"


def _recorded(store: Site, window: Window) -> str:
    """Says from when on a week was recorded whose beginning is missing."""
    if store.data_from_ms is None or store.data_from_ms <= window.start_ms:
        return ""
    first = local(store.data_from_ms, window.zone)
    return f", recorded from {first:%a} {first.day} {first:%b %H:%M}"


def _whose(scope: Scope, settings: SiteSettings) -> str:
    return {"cluster": settings.name, "account": scope.name, "user": f"GPUs of {scope.name}"}[scope.kind]


def _subject(scope: Scope, context: Context, days: str) -> str:
    who = "Your GPUs" if scope.kind == "user" else scope.name or context.site.name
    held, idle = format_gpu_h(context.hours.held_gpu_h), idle_share_pct(context.hours)
    share = f", {format_pct(idle)} idle" if idle is not None else ""
    return f"{who} {days}: {held}{share}"
