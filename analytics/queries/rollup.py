"""Rows of the hour rollup in a window, completed by minutes where the window does not begin or end at a full hour."""

from collections.abc import Iterable
from typing import Final

from analytics.model import HOUR_MS, MINUTE_MS, Window
from analytics.queries.scope import Condition, Params, fill

_HOURS: Final = f"""
    SELECT hour_ms AS at_ms, {HOUR_MS} AS bucket_ms, node_key, gpu_key, run_key{{columns}} FROM gpu_hour
    WHERE hour_ms >= $from_hour AND hour_ms < $to_hour"""  # noqa: S608 - a constant of this module

_MINUTES: Final = f"""
    SELECT minute_ms AS at_ms, {MINUTE_MS} AS bucket_ms, node_key, gpu_key, run_key{{columns}} FROM gpu_minute
    WHERE """  # noqa: S608

_BETWEEN: Final = "minute_ms >= $from_minute AND minute_ms < $to_minute"
_EDGES: Final = """
    (minute_ms >= $from_minute AND minute_ms < $from_hour OR minute_ms >= $to_hour AND minute_ms < $to_minute)"""


def floor(value_ms: int, step_ms: int) -> int:
    """Returns the last full step at or before a moment."""
    return value_ms // step_ms * step_ms


def rollup(window: Window, columns: Iterable[str], *, minutes: bool = False) -> Condition:
    """Returns a SELECT of the rollup rows of a window: at_ms, bucket_ms (its length), keys and the columns named.

    Full hours come from the hour rollup. Where an end lies between full hours (zones at half hours, the period before
    one that is not over yet) the minute rollup completes it. An end between minutes is the moment that the data reaches
    to, so the hour it lies in holds nothing beyond it.
    """
    named = "".join(f", {column}" for column in columns)
    edges: Params = {"from_minute": floor(window.start_ms, MINUTE_MS), "to_minute": window.end_ms}
    if minutes:
        return Condition(fill(_MINUTES + _BETWEEN, columns=named), edges)
    starts, ends = window.start_ms % HOUR_MS == 0, window.end_ms % HOUR_MS == 0 or window.end_ms % MINUTE_MS != 0
    hours: Params = {
        "from_hour": -floor(-window.start_ms, HOUR_MS),
        "to_hour": window.end_ms if ends else floor(window.end_ms, HOUR_MS),
    }
    if starts and ends:
        return Condition(fill(_HOURS, columns=named), hours)
    return Condition(fill(f"{_HOURS} UNION ALL {_MINUTES}{_EDGES}", columns=named), hours | edges)
