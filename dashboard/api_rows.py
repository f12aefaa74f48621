"""From what queries return to what the API sends: JSON with times in ISO 8601 beside the milliseconds, or CSV."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from analytics.model import Window
from analytics.wording import format_iso

MOMENTS: Final = frozenset({
    "start_ms", "end_ms", "submit_ms", "found_ms", "made_ms", "data_to_ms", "last_run_ms", "first_ms", "last_ms",
    "at_ms", "ts_ms", "row_ms", "since_ms", "due_ms",
})  # fmt: skip
"""Fields that are moments, not lengths: each is also sent under its name without ``_ms``, as ISO 8601 in UTC."""

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def plain(value: object) -> Any:
    """Returns a Struct, list or mapping as JSON values, unrounded, with moments in ISO 8601 added."""
    return _with_times(msgspec.to_builtins(value))


def _with_times(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_times(item) for item in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, item in value.items():
        if name in MOMENTS and (item is None or isinstance(item, int)):
            found[name.removesuffix("_ms")] = format_iso(item)
        found[name] = _with_times(item)
    return found


def window(chosen: Window) -> dict[str, str | None]:
    """Returns a window as the API says it: half open, in UTC."""
    ends = {"from": format_iso(chosen.start_ms), "to": format_iso(chosen.end_ms)}
    return ends | {"zone": chosen.zone, "label": chosen.label}


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Returns rows as CSV with a header: unrounded, unknown is empty, lists and objects are JSON.

    The header is ``columns``, also where there are no rows; without them it is all names in the rows.
    A text that a spreadsheet would take for a formula begins with an apostrophe: people choose job names.
    """
    out = io.StringIO()
    names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(names)
    writer.writerows(_cells(row.get(name) for name in names) for row in rows)
    return out.getvalue()


def _cells(values: Iterable[Any]) -> list[Any]:
    return [_cell(value) for value in values]


def _cell(value: Any) -> Any:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list() | dict():
            return msgspec.json.encode(value).decode()
        case str() if value.startswith(_FORMULA):
            return f"'{value}"
        case _:
            return value
