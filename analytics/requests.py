"""What people type or click, turned into Window and Filter: one place for pages, API and commands."""

from collections.abc import Mapping

from analytics.model import Filter, Window


class BadRequest(ValueError):
    """A parameter that cannot be understood; the message is one sentence with the next step."""


def parse_window(
    start: str | None, end: str | None, span: str | None, now_ms: int, zone: str = "UTC", default: str = "7d"
) -> Window:
    """Returns the window of ``from``, ``to`` and ``range``. ``now_ms`` is the moment the data reaches to."""
    raise NotImplementedError


def parse_filter(values: Mapping[str, str]) -> Filter:
    """Returns the filter of a query string; names it does not know are left to others."""
    raise NotImplementedError


def query_string(window: Window | None, where: Filter) -> str:
    """Returns the canonical query string of a window and a filter, without the question mark."""
    raise NotImplementedError
