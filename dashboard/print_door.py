"""Serves pages as they are printed: ``/print`` before a page's address, through the templates of the reports."""

from collections.abc import Sequence
from urllib.parse import quote

from flask import Flask, Response, abort, request

from analytics.reports.render import render_print
from dashboard.documents import PREFIX, documents
from dashboard.frame import opened
from dashboard.headers import KEPT_REPORT_POLICY
from dashboard.page import Page


def register(server: Flask, pages: Sequence[Page]) -> None:
    """Adds ``/print/<address of a page>``."""

    @server.get(f"{PREFIX}/")
    @server.get(f"{PREFIX}/<path:rest>")
    def printed(rest: str = "") -> Response:
        path = f"/{quote(rest)}"  # as the browser sent it: an id may hold what an address cannot
        page = next((one for one in pages if one.matches(path) and one.module in documents()), None)
        if page is None:
            abort(404, "This page cannot be printed; Overview, Me, Jobs and each job can.")
        with opened(page, path, request.query_string.decode("utf-8", "replace")) as asked:
            response = Response(render_print(documents()[page.module](asked)), mimetype="text/html")
        response.headers["Content-Security-Policy"] = KEPT_REPORT_POLICY
        response.headers["Cache-Control"] = "no-store"
        return response
