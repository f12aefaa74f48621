"""Numbers and thresholds of a finding in people's words and units: the stored name says the unit."""

from collections.abc import Callable, Mapping
from typing import Final

from analytics.evidence_names import NUMBERS, THRESHOLDS
from analytics.wording import (
    format_count,
    format_duration,
    format_gpu_h,
    format_mib,
    format_pct,
    format_power,
    format_ratio,
    format_time,
)

HOUR_MS: Final = 3_600_000
_SAID_ALREADY: Final = frozenset({"coverage"})  # stands beside the numbers as the finding's own
_OF_ONE_GPU: Final = frozenset({"busiest_gpu_ms", "busiest_unused_gpu_ms"})  # time of a GPU, no sum over GPUs
_MOMENTS: Final = frozenset({"last_row_ms"})

# The longest ending that fits says the unit.
_UNITS: Final[tuple[tuple[str, Callable[[float], str]], ...]] = (
    ("_gpu_ms", lambda value: format_gpu_h(value / HOUR_MS)),
    ("_ms", format_duration),
    ("_s", lambda value: format_duration(1000 * value)),
    ("_pct", format_pct),
    ("_ratio", format_ratio),
    ("_mib", format_mib),
    ("_w", format_power),
    ("_efficiency", format_ratio),
    ("_coverage", format_ratio),
)


def numbers_said(values: Mapping[str, object], zone: str = "UTC") -> list[tuple[str, str]]:
    """Returns (name, value) of the figures that are known, in words; what the finding says itself is left out."""
    return _said(values, NUMBERS, zone)


def thresholds_said(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Returns (name, value) of thresholds, in words; settings that are no number are none."""
    limits = {name: value for name, value in values.items() if type(value) in {int, float}}
    return _said(limits, THRESHOLDS, "UTC")


def _said(values: Mapping[str, object], names: Mapping[str, str], zone: str) -> list[tuple[str, str]]:
    known = {name: value for name, value in values.items() if value is not None and name not in _SAID_ALREADY}
    # A finding of an earlier version may have figures that no rule has any more.
    return [(names.get(name, name.replace("_", " ")), _value(name, value, zone)) for name, value in known.items()]


def _value(name: str, value: object, zone: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _plain(value)
    if name in _OF_ONE_GPU:
        return format_duration(value)
    if name in _MOMENTS:
        return format_time(int(value), zone)
    for ending, form in _UNITS:
        if name.endswith(ending):
            return form(value)
    return format_count(value) if float(value).is_integer() else f"{value:,.3g}"


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
