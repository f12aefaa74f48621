"""Rows of the hour rollup in a window, by the minute where an hour is cut: by an end of the window, or within it."""

from collections.abc import Iterable
from typing import Final, Literal

from analytics.model import HOUR_MS, MINUTE_MS, Window
from analytics.queries.scope import Condition, Params, fill

Table = Literal["gpu", "spare"]
_KEYS: Final[dict[Table, str]] = {"gpu": "node_key, gpu_key, run_key", "spare": "node_key, gpu_key, kind"}

_HOURS: Final = f"""
    SELECT hour_ms AS at_ms, {HOUR_MS} AS bucket_ms, {{keys}}{{columns}} FROM {{table}}_hour
    WHERE hour_ms >= $from_hour AND hour_ms < $to_hour"""  # noqa: S608 - a constant of this module

_MINUTES: Final = f"""
    SELECT minute_ms AS at_ms, {MINUTE_MS} AS bucket_ms, {{keys}}{{columns}} FROM {{table}}_minute
    WHERE """  # noqa: S608

_UNCUT: Final = f" AND hour_ms // {HOUR_MS} NOT IN (SELECT unnest($cut))"
_CUT: Final = f"minute_ms >= $first_cut AND minute_ms < $last_cut AND minute_ms // {HOUR_MS} IN (SELECT unnest($cut))"
_BETWEEN: Final = "minute_ms >= $from_minute AND minute_ms < $to_minute"
_BEFORE: Final = "minute_ms >= $from_minute AND minute_ms < least($from_hour, $to_minute)"
_AFTER: Final = "minute_ms >= greatest($to_hour, $from_hour) AND minute_ms < $to_minute"


def floor(value_ms: int, step_ms: int) -> int:
    """Returns the last full step at or before a moment."""
    return value_ms // step_ms * step_ms


def rollup(
    window: Window, columns: Iterable[str], *, minutes: bool = False, cuts: Iterable[int] = (), table: Table = "gpu"
) -> Condition:
    """Returns a SELECT of the rollup rows of a window: at_ms, bucket_ms (its length), keys and the columns named.

    Full hours come from the hour rollup. Where an end lies between full hours (zones at half hours, the period before
    one that is not over yet) the minute rollup completes it. An end between minutes is the moment that the data reaches
    to, so the hour it lies in holds nothing beyond it. No row lies across a moment of ``cuts``: rows are put into days
    by their beginning, and in zones at half hours a day begins between full hours. Of the spare time of GPUs
    (store/spare.py) the kind takes the place of the run.
    """
    named = "".join(f", {column}" for column in columns)
    of_table = {"columns": named, "keys": _KEYS[table], "table": table}
    start_minute, end = floor(window.start_ms, MINUTE_MS), window.end_ms
    if minutes:
        return Condition(fill(_MINUTES + _BETWEEN, **of_table), {"from_minute": start_minute, "to_minute": end})
    whole_end = end % HOUR_MS == 0 or end % MINUTE_MS != 0
    params: Params = {"to_hour": end if whole_end else floor(end, HOUR_MS)}
    from_hour = -floor(-window.start_ms, HOUR_MS)
    cut = sorted({cut // HOUR_MS for cut in cuts if cut % HOUR_MS and from_hour < cut < end})
    parts = [Condition(_HOURS + (_UNCUT if cut else ""), {"from_hour": from_hour})]
    if cut:
        params |= {"cut": cut}
        parts.append(Condition(_MINUTES + _CUT, {"first_cut": cut[0] * HOUR_MS, "last_cut": (cut[-1] + 1) * HOUR_MS}))
    # One SELECT an edge: DuckDB passes over whole row groups for a range of time, but not for two joined by OR.
    if window.start_ms % HOUR_MS:
        parts.append(Condition(_MINUTES + _BEFORE, {"from_minute": start_minute, "to_minute": end}))
    if not whole_end:
        parts.append(Condition(_MINUTES + _AFTER, {"to_minute": end}))
    for part in parts:
        params = params | part.params
    return Condition(fill(" UNION ALL ".join(part.sql for part in parts), **of_table), params)
