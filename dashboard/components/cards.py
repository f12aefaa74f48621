"""Cards and their states: data, empty, partial, error. One failing card never takes the page down."""

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dash import html
from dash.development.base_component import Component
from flask import current_app

from analytics.wording import format_time
from dashboard.components.attributes import attributes
from dashboard.components.marks import Child, icon
from dashboard.live import slot
from store.errors import StoreError

log = logging.getLogger(__name__)
Result = TypeVar("Result")

LAST_GOOD = "gpuledger_last_good"
"""Key under which the Flask app remembers when each region last worked, for the error card."""

Children = Component | str | None | Sequence[Any]


def card(
    title: Child,
    children: Children,
    *,
    id: str | None = None,
    aside: Children = None,
    note: Children = None,
    level: int = 2,
) -> html.Section:
    """Returns a titled card. ``aside`` stands right of the title, ``note`` below it."""
    heading = {2: html.H2, 3: html.H3}[level](title, className="card-title")
    named = {"id": id} if id else {}
    return html.Section(
        [
            html.Div(
                [html.Div([heading, html.P(note, className="card-note") if note else None]), html.Div(aside)],
                className="card-head",
            )
            if aside or note
            else heading,
            html.Div(children, className="card-body"),
        ],
        className="card",
        **named,
    )


def empty(sentence: Children, *, next_step: Children = None) -> html.Div:
    """Returns the state of a card that has nothing to show: an answer, not an error."""
    return html.Div([html.P(sentence), html.P(next_step, className="muted") if next_step else None], className="empty")


def failed(what: str, sentence: str, last_good: str | None) -> html.Section:
    """Returns the card in place of a region that failed: what failed, when it last worked, where to look."""
    since = f" It last worked {last_good}." if last_good else ""
    return html.Section(
        [
            html.Div([icon("alert"), html.Strong(f"{what} could not be shown")], className="failed-title"),
            html.P(
                [sentence, since, " The rest of this page is not affected. ", html.A("See Health", href="/health"), "."]
            ),
        ],
        className="card failed",
        role="status",
        **attributes(data_state="error"),
    )


def region(id: str, what: str, build: Callable[[], Children], *, now_ms: int, zone: str) -> html.Div:
    """Returns what ``build`` makes, or an error card; its place and id are the same either way."""
    memory: dict[str, int] = current_app.extensions.setdefault(LAST_GOOD, {})
    try:
        children = build()
        memory[id] = now_ms
    except StoreError as error:
        log.warning("region=%s error=%s", id, error)
        children = failed(what, str(error), _when(memory.get(id), zone))
    except Exception:
        log.exception("region=%s", id)
        children = failed(
            what, "Something unexpected happened; the server's log has the details.", _when(memory.get(id), zone)
        )
    return slot(id, children)


def _when(at_ms: int | None, zone: str) -> str | None:
    return format_time(at_ms, zone) if at_ms else None


def once(build: Callable[[], Result]) -> Callable[[], Result]:
    """Returns ``build`` with its result kept: several regions of one page share one query, and fail one by one."""
    return functools.cache(build)
