"""Numbers and thresholds of a finding in people's units: the stored name says the unit."""

from collections.abc import Callable, Mapping
from typing import Final

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


def said(values: Mapping[str, object], zone: str = "UTC") -> list[tuple[str, str]]:
    """Returns (name, value) of what is known, in words; what the finding says itself is left out."""
    return [
        _pair(name, value, zone) for name, value in values.items() if value is not None and name not in _SAID_ALREADY
    ]


def _pair(name: str, value: object, zone: str) -> tuple[str, str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _words(name), _plain(value)
    if name in _OF_ONE_GPU:
        return _words(name.removesuffix("_ms")), format_duration(value)
    if name in _MOMENTS:
        return _words(name.removesuffix("_ms")), format_time(int(value), zone)
    for ending, form in _UNITS:
        if name.endswith(ending):
            kept = name if ending in ("_efficiency", "_coverage") else name.removesuffix(ending)
            return _words(kept), form(value)
    return _words(name), format_count(value) if float(value).is_integer() else f"{value:,.3g}"


def _words(name: str) -> str:
    return " ".join(word.upper() if word in ("gpu", "cpu") else word for word in name.split("_"))


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
