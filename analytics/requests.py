"""What people type or click, turned into Window and Filter: one place for pages, API and commands."""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Self
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

import msgspec

from analytics.model import HOUR_MS, Filter, Window
from analytics.wording import format_iso, format_time, local

MAX_LIMIT: Final = 1000
MAX_HOURS: Final = 5 * 366 * 24
_SPAN = re.compile(r"([1-9]\d{0,4})([hdw])")
_WEEK = re.compile(r"\d{4}-W\d{2}")
_EPOCH = re.compile(r"\d{9,14}")
_HOURS = {"h": 1, "d": 24, "w": 168}
_TEXTS: Final = ("cluster", "user", "account", "partition", "model", "node", "state", "finding", "text", "family")
_NUMBERS: Final = ("min_gpu_h", "max_gpu_h", "min_util_pct", "max_util_pct")

WINDOW_NAMES: Final = ("range", "from", "to")
FILTER_NAMES: Final = _TEXTS + _NUMBERS


class BadRequest(ValueError):
    """A parameter that cannot be understood; the message is one sentence with the next step."""


class Page(msgspec.Struct, frozen=True):
    """Which part of a list: ``cursor`` is what the page before gave as ``next``."""

    limit: int = 50
    offset: int = 0

    @classmethod
    def of(cls, values: Mapping[str, str], default: int = 50) -> Self:
        """Returns the page that ``limit`` and ``cursor`` ask for."""
        limit, offset = values.get("limit") or str(default), values.get("cursor") or "0"
        if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:9]) <= MAX_LIMIT):
            raise BadRequest(f"limit is a whole number from 1 to {MAX_LIMIT}, not {_shown(limit)}.")
        if not (offset.isascii() and offset.isdigit() and len(offset) <= 9):
            raise BadRequest(f"cursor is what an answer gave as next, not {_shown(offset)}.")
        return cls(int(limit), int(offset))


def parse_window(
    start: str | None, end: str | None, span: str | None, now_ms: int, zone: str = "UTC", default: str = "7d"
) -> Window:
    """Returns the window that ``from``, ``to`` and ``range`` ask for, on full hours of ``zone``.

    Args:
        start: a date (its midnight in ``zone``), a date and time (of ``zone`` unless it has an offset), or epoch
            seconds or milliseconds.
        end: likewise, exclusive: a date is its midnight. Never beyond ``now_ms``.
        span: ``24h``, ``7d``, ``12w`` back from ``now_ms``, or an ISO week such as ``2026-W48``; start or end win.
        now_ms: the moment that the data reaches to.
        zone: the site's time zone.
        default: the span where nothing is asked for.

    Raises:
        BadRequest: one sentence that names the parameter.
    """
    if not start and not end:
        return _of_span(span or default, now_ms, zone)
    end_ms = min(_hour_at_or_after(moment_ms("to", end, zone), zone), now_ms) if end else now_ms
    if start:
        start_ms = _hour_at_or_before(moment_ms("from", start, zone), zone)
    else:
        length = _of_span(span or default, now_ms, zone)
        start_ms = _hour_at_or_before(end_ms - (length.end_ms - length.start_ms), zone)
    if start_ms >= end_ms:
        raise BadRequest(
            f"from ({format_time(start_ms, zone)}) has to lie before to ({format_time(end_ms, zone)}); "
            f"the data reaches to {format_time(now_ms, zone)}."
        )
    if end_ms - start_ms > MAX_HOURS * HOUR_MS:
        raise BadRequest("The window from from to to is longer than 5 years; choose a shorter one.")
    label = f"{format_time(start_ms, zone)} to {format_time(end_ms, zone)}"
    return Window(start_ms=start_ms, end_ms=end_ms, zone=zone, label=label)


def parse_filter(values: Mapping[str, str]) -> Filter:
    """Returns the filter of a query string; names that it does not know are left to others.

    Raises:
        BadRequest: a size or percentage that is not a number of 0 or more, a value that is blank.
    """
    texts = {name: _text(name, values[name]) for name in _TEXTS if values.get(name)}
    numbers = {name: _number(name, values[name]) for name in _NUMBERS if values.get(name)}
    return Filter(**texts, **numbers)  # type: ignore[arg-type] # names are the Struct's own


def query_string(window: Window | None, where: Filter) -> str:
    """Returns the query string of a window and a filter, without the question mark; what is not set is left out."""
    pairs: dict[str, str] = {}
    if window is not None:
        pairs = {"from": format_iso(window.start_ms) or "", "to": format_iso(window.end_ms) or ""}
    for name in FILTER_NAMES:
        value = getattr(where, name)
        if value is not None:
            pairs[name] = f"{value:g}" if isinstance(value, float) else value
    return urlencode(pairs, quote_via=quote)


def _of_span(span: str, now_ms: int, zone: str) -> Window:
    if _WEEK.fullmatch(span):
        return _of_week(span, now_ms, zone)
    found = _SPAN.fullmatch(span)
    hours = int(found[1]) * _HOURS[found[2]] if found else 0
    if not 0 < hours <= MAX_HOURS:
        raise BadRequest(f"range is such as 24h, 7d, 12w or 2026-W48, not {_shown(span)}.")
    return Window.last(hours, now_ms, zone)


def _of_week(label: str, now_ms: int, zone: str) -> Window:
    try:
        week = Window.week(label, zone)
    except ValueError:
        raise BadRequest(f"{_shown(label)} is not a week of the ISO calendar; write such as 2026-W48.") from None
    if week.start_ms >= now_ms:
        raise BadRequest(f"{label} has not begun; the data reaches to {format_time(now_ms, zone)}.")
    return msgspec.structs.replace(week, end_ms=min(week.end_ms, now_ms))


def moment_ms(name: str, text: str, zone: str) -> int:
    """Returns the moment of a date, a date and time (of ``zone`` unless it has an offset) or epoch seconds or ms.

    Raises:
        BadRequest: one sentence that names the parameter.
    """
    if _EPOCH.fullmatch(text):
        return int(text) * (1000 if len(text) <= 10 else 1)
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=ZoneInfo(zone))
        value_ms = int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise BadRequest(
            f"{name} is a date or time such as 2026-11-23 or 2026-11-23T14:00, not {_shown(text)}."
        ) from None
    if not 0 <= value_ms < 1 << 45:
        raise BadRequest(f"{name} lies outside the years 1970 to 3000: {_shown(text)}.")
    return value_ms


def _text(name: str, text: str) -> str:
    """Returns a value as it is, since names of jobs and users may hold anything; what is typed is freed of blanks."""
    chosen = text.strip() if name == "text" else text
    if not chosen.strip():
        # Taken as nothing it would quietly answer for everybody.
        raise BadRequest(f"{name} holds nothing but blanks; leave it out, or give it a value.")
    return chosen


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise BadRequest(f"{name} is a number of 0 or more, not {_shown(text)}.")
    return value


def _hour_at_or_before(value_ms: int, zone: str) -> int:
    offset = local(value_ms, zone).utcoffset()
    shift = int(offset.total_seconds() * 1000) if offset else 0
    return (value_ms + shift) // HOUR_MS * HOUR_MS - shift


def _hour_at_or_after(value_ms: int, zone: str) -> int:
    before = _hour_at_or_before(value_ms, zone)
    return before if before == value_ms else before + HOUR_MS


def _shown(text: str) -> str:
    """Returns what was typed, short enough and safe to repeat in a sentence."""
    clean = "".join(letter for letter in text if letter.isprintable())
    return f"'{clean[:40]}{'...' if len(clean) > 40 else ''}'"
