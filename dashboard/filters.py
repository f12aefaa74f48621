"""The address is the page's only memory: each filter, sort, tab and range is in its query string, and links keep it."""

import dataclasses
from collections.abc import Mapping
from typing import Final, Self
from urllib.parse import parse_qsl, quote, unquote, urlencode

from analytics.model import Filter, Window
from analytics.requests import FILTER_NAMES, WINDOW_NAMES, BadRequest, parse_filter, parse_window
from analytics.wording import format_duration, format_time

MAX_VALUE: Final = 500
"""Longest value taken from an address; a longer one is cut, it can match nothing."""
MAX_FIELDS: Final = 60

RANGES: Final = {"24h": "24 h", "7d": "7 d", "30d": "30 d", "90d": "90 d"}


@dataclasses.dataclass(frozen=True)
class Address:
    """A path and its parameters, in order; what a page does not know is kept."""

    path: str
    params: Mapping[str, str]

    @classmethod
    def parse(cls, path: str, search: str) -> Self:
        """Returns the address of ``path`` and ``?a=b``; of a repeated name the last counts."""
        try:
            pairs = parse_qsl(search.removeprefix("?"), keep_blank_values=False, max_num_fields=MAX_FIELDS)
        except ValueError:
            pairs = []
        return cls(path, {name[:MAX_VALUE]: value[:MAX_VALUE] for name, value in pairs})

    def get(self, name: str) -> str | None:
        return self.params.get(name)

    def change(self, **changes: str | float | None) -> Self:
        """Returns this address with parameters set, or removed where None."""
        params = {**self.params, **{name: value for name, value in changes.items() if value is not None}}
        gone = {name for name, value in changes.items() if value is None}
        return type(self)(self.path, {name: str(value) for name, value in params.items() if name not in gone})

    def to(self, path: str, **changes: str | float | None) -> Self:
        """Returns another page's address with the same window and filters; page-bound parameters stay behind."""
        kept = {name: value for name, value in self.params.items() if name in WINDOW_NAMES + FILTER_NAMES}
        return type(self)(path, kept).change(**changes)

    @property
    def href(self) -> str:
        query = urlencode(self.params, quote_via=quote)
        return f"{self.path}?{query}" if query else self.path


@dataclasses.dataclass(frozen=True)
class View:
    """What the address asks for, and the sentence that says which part of it could not be understood.

    ``since`` is said where the data is shorter than the period asked for, so that nobody reads an empty week as idle.
    """

    window: Window
    filter: Filter
    span: str
    since: str | None = None
    refusal: str | None = None


def view(address: Address, data: tuple[int | None, int], zone: str, default: str) -> View:
    """Returns window and filter of an address. Bad input falls back to the defaults and says so; it never fails."""
    data_from_ms, data_to_ms = data
    refusal = since = None
    start, end, span = address.get("from"), address.get("to"), address.get("range")
    try:
        window = parse_window(start, end, span, data_to_ms, zone, default)
    except BadRequest as error:
        refusal = str(error)
        start = end = span = None
        window = parse_window(None, None, None, data_to_ms, zone, default)
    if data_from_ms is not None and window.start_ms < data_from_ms < window.end_ms:
        window = parse_window(str(data_from_ms), str(window.end_ms), None, data_to_ms, zone, default)
        length = format_duration(window.end_ms - data_from_ms)
        since = f"since {format_time(data_from_ms, zone)} ({length})"
    try:
        chosen = parse_filter(address.params)
    except BadRequest as error:
        refusal = str(error)
        chosen = Filter()
    return View(window, chosen, "custom" if start or end else span or default, since, refusal)


def job_path(job_id: str, cluster: str | None = None) -> str:
    """Returns the path of a run's page; ids such as ``123_4``, ``123+1`` and hostile ones survive as one segment."""
    name = f"{cluster}:{job_id}" if cluster else job_id
    return f"/jobs/{quote(name, safe='')}"


def node_path(name: str) -> str:
    """Returns the path of a node's page."""
    return f"/nodes/{quote(name, safe='')}"


def segment(path: str, prefix: str) -> str:
    """Returns the decoded rest of ``path`` after ``prefix``."""
    return unquote(path.removeprefix(prefix))[:MAX_VALUE]
