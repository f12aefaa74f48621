"""The frame of a page: heading, controls and the part that is drawn anew on every refresh."""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any, Final

from dash import html
from dash.development.base_component import Component
from flask import request as flask_request

from analytics.wording import format_time
from dashboard import live
from dashboard.components import cards, shell
from dashboard.components.attributes import attributes
from dashboard.components.links import copy_button
from dashboard.components.marks import icon
from dashboard.documents import PREFIX, documents
from dashboard.filters import Address
from dashboard.page import Page
from dashboard.request import Request
from dashboard.services import Services, services
from dashboard.theme import Scheme
from store.errors import StoreError

log = logging.getLogger(__name__)

LIVE: Final = "live-part"
"""Id of the part of a page that a refresh replaces."""


@contextlib.contextmanager
def opened(page: Page, path: str, search: str) -> Iterator[Request]:
    """Opens the request for a page: one cursor, closed at the end."""
    found: Services = services()
    scheme: Scheme = "dark" if flask_request.cookies.get("scheme") == "dark" else "light"
    with found.cursor() as cursor:
        yield Request(
            address=Address.parse(path, search),
            cur=cursor,
            services=found,
            viewer=found.viewer(),
            now_ms=found.now_ms(),
            scheme=scheme,
            coarse=flask_request.cookies.get("pointer") == "coarse",
            default_range=page.default_range,
        )


def whole(page: Page, pages: Sequence[Page], path: str, search: str) -> list[Component]:
    """Returns navigation and page. Where the store itself fails, the page says so in one card."""
    try:
        with opened(page, path, search) as request:
            words = request.words.runs
            content = _content(page, request)
    except StoreError as error:
        log.warning("path=%s error=%s", path, error)
        words = "jobs"
        content = [html.H1(page.name), cards.failed("This page", str(error), None)]
    return [
        shell.sidebar(pages, path.rstrip("/") or "/", words),
        html.Main(content, id="content", tabIndex=-1, **attributes(data_page=page.path)),
    ]


def _content(page: Page, request: Request) -> list[Any]:
    title = page.title(request) if page.title else _name(page, request)
    return [
        shell.synthetic_banner(request),
        html.Div([html.H1(title), *page.controls(request), _actions(page, request)], className="page-head"),
        _live(page, request),
    ]


def _actions(page: Page, request: Request) -> Component:
    link = copy_button("", "the address of this page with its filters", word="Copy link")
    return html.Div([link, _print_link(page, request)], className="page-actions")


def _print_link(page: Page, request: Request) -> Component | None:
    if page.module not in documents():
        return None
    return html.A(
        [icon("print"), "Print"],
        href=PREFIX + request.address.href,
        target="_blank",
        className="button button-small print-link",
        title="This page as a document for paper",
    )


def _name(page: Page, request: Request) -> str:
    return request.words.runs.capitalize() if page.path == "/jobs" else page.name


def _live(page: Page, request: Request) -> html.Div:
    parts = [
        live.slot("age", shell.data_age(request)),
        live.slot("refusal", shell.refusal(request)),
        live.slot("pending", shell.pending(request)),
        *page.body(request),
    ]
    shown = html.Div(parts, id=LIVE, **attributes(data_live="yes" if page.live else "no"))
    setattr(shown, live.DIGEST, live.digest(shown))
    return shown


def refreshed(pages: Sequence[Page], path: str, search: str, shown: live.Shown) -> tuple[live.Changes, dict[str, str]]:
    """Returns what has changed on the page at ``path`` since it was shown, and what to announce."""
    page = next((page for page in pages if page.matches(path)), None) or not_found(pages)
    try:
        with opened(page, path, search) as request:
            said = f"Updated, data to {format_time(request.store.data_to_ms, request.zone)}"
            return live.changes(_live(page, request), shown), {"say": said}
    except StoreError as error:
        log.warning("path=%s error=%s", path, error)
        broken = html.Div(cards.failed("This page", str(error), None))
        return live.changes(broken, shown), {"say": "The refresh failed"}


def not_found(pages: Sequence[Page]) -> Page:
    """Returns the page that answers for all the others."""
    return next(page for page in pages if page.module == "not_found_404")
