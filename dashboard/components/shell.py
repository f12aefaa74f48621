"""The frame around every page: navigation, search, age of the data, banners, the live region."""

from collections.abc import Sequence

from dash import dcc, html
from dash.development.base_component import Component

from analytics.queries import pending as queries
from dashboard.components import cards
from dashboard.components.attributes import attributes
from dashboard.components.marks import Child, icon, moment
from dashboard.page import Page
from dashboard.request import Request

GROUPS = ("", "Improve", "Trust")


def skip_link() -> html.A:
    """Returns the link that jumps over the navigation; the first thing the keyboard reaches."""
    return html.A("Skip to the content", href="#content", className="skip", target="_self")


def live_region() -> html.Div:
    """Returns the element that announces refreshes and copies to screen readers."""
    return html.Div(id="live", className="visually-hidden", role="status", **attributes(aria_live="polite"))


def sidebar(pages: Sequence[Page], current: str, words_runs: str) -> html.Nav:
    """Returns the navigation with the current page marked; on a small screen it folds behind a button."""
    return html.Nav(
        [
            html.A(
                [html.Span(className="logo", **attributes(aria_hidden="true")), "GPU Ledger"],
                href="/",
                className="brand",
            ),
            html.Button(
                [icon("menu"), html.Span("Menu", className="visually-hidden")],
                id="menu-button",
                type="button",
                className="menu-button",
                **attributes(aria_expanded="false", aria_controls="menu"),
            ),
            html.Div([_group(group, pages, current, words_runs) for group in GROUPS], id="menu", className="menu-list"),
        ],
        className="sidebar",
        **attributes(aria_label="Pages"),
    )


def _group(group: str, pages: Sequence[Page], current: str, words_runs: str) -> html.Div:
    entries = [page for page in pages if page.group == group and page.icon]
    heading = f"menu-{group.lower()}" if group else ""
    return html.Div(
        [
            html.Div(group, className="menu-heading", id=heading) if group else None,
            html.Ul([html.Li(_entry(page, current, words_runs)) for page in entries]),
        ]
    )


def _entry(page: Page, current: str, words_runs: str) -> html.A:
    here = page.path == current or (page.path != "/" and current.startswith(page.path + "/"))
    marked = {"aria-current": "page"} if here else {}
    title = words_runs.capitalize() if page.path == "/jobs" else page.name
    return html.A([icon(page.icon), html.Span(title)], href=page.path, className="menu-entry", **marked)


def topbar(search_hint: str) -> html.Header:
    """Returns the search field and the switch of colours. It is drawn once, so that typing survives a refresh."""
    return html.Header(
        [
            html.Form(
                [
                    html.Label("Search", htmlFor="search", className="visually-hidden"),
                    icon("search"),
                    dcc.Input(
                        id="search",
                        name="text",
                        type="search",
                        placeholder=search_hint,
                        autoComplete="off",
                        maxLength=200,
                    ),
                    html.Kbd("/", **attributes(aria_hidden="true")),
                ],
                action="/search",
                method="get",
                className="search",
                role="search",
            ),
            html.Button(
                icon("scheme"),
                id="scheme-toggle",
                type="button",
                className="button button-icon",
                title="Light or dark",
                **attributes(aria_label="Switch between light and dark colours"),
            ),
        ],
        className="topbar",
    )


def data_age(request: Request) -> Child:
    """Returns "data to 14:32, 40 s ago", amber when older than three intervals."""
    to_ms = request.store.data_to_ms
    if to_ms is None:
        return None
    return html.Div(
        [
            html.Span(className="dot", **attributes(aria_hidden="true")),
            "Data to ",
            moment(to_ms, request.zone),
            html.Span(", ", className="quiet"),
            html.Span(**attributes(data_since_ms=str(to_ms), data_stale_ms=str(request.stale_ms))),
        ],
        className="age",
        **attributes(data_stale="yes" if request.stale else "no"),
    )


def synthetic_banner(request: Request) -> Child:
    """Returns what must be known before any number of a synthetic cluster is read."""
    if not request.store.synthetic:
        return None
    return html.Aside(
        [
            html.Strong("Synthetic cluster."),
            " Every name and number here is simulated. ",
            html.A("Record your own: 3 steps", href="/about#record-your-own", className="strong-link"),
        ],
        className="banner banner-synthetic",
        id="synthetic",
        **attributes(aria_label="Synthetic data"),
    )


def pending(request: Request) -> Child:
    """Returns what has come in and is not in the figures yet, where that is much."""
    sentence = queries.pending(request.cur).sentence
    if sentence is None:
        return None
    return html.Aside([icon("waiting"), sentence], className="banner banner-pending", role="status", id="pending")


def nothing(request: Request, text: str) -> Component:
    """Returns an empty card's words: ``text``, unless what came in is not judged yet and there may be something."""
    waiting = queries.pending(request.cur).sentence is not None
    return cards.empty(queries.NOT_JUDGED if waiting else text)


def refusal(request: Request) -> Child:
    """Returns the sentence on the part of the address that could not be understood."""
    if not request.view.refusal:
        return None
    return html.Aside(request.view.refusal, className="banner banner-amber", role="alert", id="refusal")
