"""Serves reports from the archive as they were made: their own HTML, under a policy that runs nothing."""

from flask import Flask, Response, abort

from analytics.queries import reports
from dashboard.headers import KEPT_REPORT_POLICY
from dashboard.services import services


def register(server: Flask) -> None:
    """Adds ``/reports/<scope>/<week>/<revision>``."""

    @server.get("/reports/<scope>/<week>/<int:revision>")
    def kept_report(scope: str, week: str, revision: int) -> Response:
        found = services()
        with found.cursor() as cursor:
            report = reports.report(cursor, found.viewer(), scope, week, revision)
        if report is None:
            abort(404, "No such report, or not one that you may see; the archive is at /reports.")
        response = Response(report.html, mimetype="text/html")
        response.headers["Content-Security-Policy"] = KEPT_REPORT_POLICY
        return response
