"""A report made on request: ``/api/v1/report?scope=&week=&format=html|text|json``, as `gpuledger report` prints it."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from flask import Response, request

from analytics.reports.build import NoSuchScope, NoSuchWeek, build
from analytics.reports.model import BadScope, Report, Scope
from analytics.reports.render import render_html, render_text
from analytics.requests import BadRequest
from dashboard.api_answers import NotFound
from dashboard.headers import KEPT_REPORT_POLICY
from dashboard.services import Services

NAMES: Final = ("scope", "week", "format")


def answer(services: Services) -> Response:
    """Returns the report that the query string asks for; raises BadRequest or NotFound with one sentence."""
    for name in request.args:
        if name not in NAMES:
            raise BadRequest(f"The parameter {name[:40]!r} is not known; known are {', '.join(NAMES)}.")
    form = request.args.get("format", "html")
    if form not in _FORMS:
        raise BadRequest(f"format is one of {', '.join(_FORMS)}.")
    try:
        scope = Scope.parse(request.args.get("scope", "cluster"))
        with services.cursor() as cur:
            week = request.args.get("week") or None
            report = build(cur, services.viewer(), scope, week, services.site, services.now_ms())
    except (BadScope, NoSuchWeek) as error:
        raise BadRequest(str(error)) from error
    except NoSuchScope as error:
        raise NotFound(str(error)) from error
    make, kind = _FORMS[form]
    response = Response(make(report), content_type=f"{kind}; charset=utf-8")
    response.headers["Content-Security-Policy"] = KEPT_REPORT_POLICY
    response.headers["Cache-Control"] = "no-store"
    return response


def _as_json(report: Report) -> bytes:
    found: dict[str, Any] = {
        "scope": str(report.scope),
        "week": report.week,
        "partial": report.partial,
        "loading": report.loading,
        "title": report.title,
        "subject": report.subject,
        "data_to_ms": report.data_to_ms,
        "synthetic": report.synthetic,
        "figures": report.figures,
        "sections": report.sections,
    }
    return msgspec.json.encode(found, order="deterministic")  # a set has another order in every process


_FORMS: Final[dict[str, tuple[Callable[[Report], str | bytes], str]]] = {
    "html": (render_html, "text/html"),
    "text": (render_text, "text/plain"),
    "json": (_as_json, "application/json"),
}
