"""The Dash application: pages found in pages/, one router, one refresh, nothing from outside."""

import importlib
import logging
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import dash_mantine_components as dmc
from dash import ALL, MATCH, ClientsideFunction, Dash, Input, Output, State, dcc, html, page_container, register_page
from dash.development.base_component import Component
from flask import Flask, request

import dashboard.pages
from dashboard import callbacks, frame, headers, kept_reports, live, print_door, search, table_rows, theme
from dashboard.api import create_blueprint
from dashboard.callbacks import LOCATION, BadCall
from dashboard.components import controls, shell
from dashboard.page import Page
from dashboard.services import EXTENSION, Services

ASSETS: Final = Path(__file__).parent / "assets"
SEARCH_HINT: Final = "Job, user, account or node"

INDEX: Final = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<title>{%title%}</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<script src="/assets/boot.js"></script>
<style id="tokens">TOKENS</style>
{%css%}
</head>
<body>
<noscript>These pages need JavaScript. The same numbers are at /api/v1/summary and in the weekly report.</noscript>
{%app_entry%}
{%config%}
{%scripts%}
{%renderer%}
</body>
</html>"""


def find_pages() -> list[Page]:
    """Returns the PAGE of every module in pages/, in the order of the navigation."""
    names = sorted(module.name for module in pkgutil.iter_modules(dashboard.pages.__path__))
    pages = [importlib.import_module(f"dashboard.pages.{name}").PAGE for name in names]
    return sorted(pages, key=lambda page: page.order)


class Application(Dash):
    """Dash, with the shape of the page instead of a word while its scripts load."""

    def interpolate_index(self, **parts: str) -> str:  # type: ignore[override] # called with keywords alone
        shape = '<div id="react-entry-point"><div class="skeleton"></div></div>'
        return super().interpolate_index(**{**parts, "app_entry": shape})


def create_app(services: Services) -> Dash:
    """Returns the application; ``.server`` is its Flask app, with the API beside the pages."""
    server = Flask("dashboard", static_folder=None)
    server.extensions[EXTENSION] = services
    server.register_blueprint(create_blueprint(services))
    kept_reports.register(server)
    search.register(server)
    pages = find_pages()
    print_door.register(server, pages)
    app = Application(
        "dashboard",
        server=server,  # type: ignore[arg-type] # Dash says bool and takes a Flask app
        assets_folder=str(ASSETS),
        assets_ignore=r"boot\.js",  # in <head>, before everything else
        use_pages=True,
        pages_folder="",
        include_pages_meta=False,  # they would put the address, as typed, into the page's head
        suppress_callback_exceptions=True,
        serve_locally=True,
        index_string=INDEX.replace("TOKENS", theme.css_variables()),
        title="GPU Ledger",
        update_title="",
        routing_callback_inputs={"url_path": State(LOCATION, "pathname"), "url_search": State(LOCATION, "search")},
        add_log_handler=False,
        enable_mcp=False,
    )
    app.logger.setLevel(logging.WARNING)
    for page in pages:
        _register(page, pages)
    app.layout = _layout()
    _callbacks(app, pages)
    table_rows.register(app)
    _unknown_paths(app, pages)
    callbacks.install(app)
    headers.install(app)
    return app


def _register(page: Page, pages: Sequence[Page]) -> None:
    def layout(url_path: str, url_search: str, **_: object) -> Any:
        return frame.whole(page, pages, url_path, url_search)

    register_page(
        f"dashboard.pages.{page.module}",
        path=None if "<" in page.path else page.path,
        path_template=page.path if "<" in page.path else None,
        name=page.name,
        title=f"{page.name} · GPU Ledger",
        layout=layout,
    )


def _layout() -> Component:
    return dmc.MantineProvider(
        [
            shell.skip_link(),
            shell.topbar(SEARCH_HINT),
            page_container,
            shell.live_region(),
            dcc.Store(id="tick"),
            dcc.Store(id="refreshed"),
            html.Div(id="arrived", hidden=True),
        ],
        theme=theme.mantine_theme(),
        defaultColorScheme="auto",
    )


def _callbacks(app: Dash, pages: Sequence[Page]) -> None:
    app.clientside_callback(
        ClientsideFunction("ledger", "address"),
        Output(LOCATION, "search"),
        Input(controls.EVERY, "value"),
        State(controls.EVERY, "id"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("ledger", "arrived"), Output("arrived", "children"), Input("_pages_store", "data")
    )
    app.clientside_callback(
        ClientsideFunction("ledger", "refreshed"), Output("arrived", "title"), Input("refreshed", "data")
    )
    app.clientside_callback(
        ClientsideFunction("ledger", "figure"),
        Output({live.CHART: MATCH}, "figure"),
        Input({live.FIGURE: MATCH}, "data"),
        State({live.FIGURE: MATCH}, "id"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("ledger", "sameTime"),
        Output("arrived", "lang"),
        Input({live.CHART: ALL}, "relayoutData"),
        prevent_initial_call=True,
    )

    every_slot, every_chart = {live.SLOT: ALL}, {live.CHART: ALL}

    @app.callback(
        output={
            "whole": Output(frame.LIVE, "children"),
            "children": Output(every_slot, "children"),
            "digests": Output(every_slot, live.DIGEST),
            "figures": Output({live.FIGURE: ALL}, "data"),
            "said": Output("refreshed", "data"),
        },
        inputs={"tick": Input("tick", "data")},
        state={
            "path": State(LOCATION, "pathname"),
            "search": State(LOCATION, "search"),
            "root": State(frame.LIVE, live.DIGEST),
            "slots": State(every_slot, "id"),
            "digests": State(every_slot, live.DIGEST),
            "charts": State(every_chart, "id"),
        },
        prevent_initial_call=True,
    )
    def refresh(
        tick: int | None,  # noqa: ARG001 - only says that it is time
        path: str,
        search: str,
        root: str,
        slots: list[dict[str, str]],
        digests: list[str | None],
        charts: list[dict[str, str]],
    ) -> dict[str, Any]:
        changes, said = frame.refreshed(pages, path, search, _shown(root, slots, digests, charts))
        return {
            "whole": changes.whole,
            "children": changes.children,
            "digests": changes.digests,
            "figures": changes.figures,
            "said": said,
        }


def _shown(
    root: str, slots: list[dict[str, str]], digests: list[str | None], charts: list[dict[str, str]]
) -> live.Shown:
    try:
        names = [id[live.SLOT] for id in slots]
        return live.Shown(root, dict(zip(names, digests, strict=True)), [id[live.CHART] for id in charts])
    except (TypeError, ValueError, KeyError) as error:
        raise BadCall("the parts of the page are not named") from error


def _unknown_paths(app: Dash, pages: Sequence[Page]) -> None:
    """A path that no page answers is drawn by the browser like any other, but its status says 404."""

    @app.server.after_request
    def status(response: Any) -> Any:
        if request.endpoint == "/<path:path>" and not any(page.matches(request.path) for page in pages):
            response.status_code = 404
        return response
