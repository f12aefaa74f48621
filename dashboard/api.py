"""The HTTP API: the same named queries as the pages, as JSON or CSV, with unrounded values.

Lists are ``{"items": [...], "next": ...}``; ``next`` goes into ``cursor`` for the next page and is null at the end. A
parameter that cannot be understood, or that nobody knows, is answered by 400 and ``{"error": one sentence}``: a
mistyped filter must not quietly answer for everybody.
"""

import difflib
import logging
from typing import Any, Final

import msgspec
from flask import Blueprint, Response, request
from werkzeug.exceptions import HTTPException

from analytics.queries.site import data_to
from analytics.requests import FILTER_NAMES, WINDOW_NAMES, BadRequest
from dashboard import (
    backup_door,
    notes_door,
    openmetrics,
    quarantine_door,
    query_door,
    rebuild_door,
    report_answer,
    tokens_door,
)
from dashboard.api_answers import ANSWERS, CSV_LIMIT, Answer, Asked, NotFound
from dashboard.api_rows import as_csv
from dashboard.services import Services
from store.database import Cursor
from store.errors import StoreError

log = logging.getLogger("gpuledger.api")

LIST_NAMES: Final = ("limit", "cursor", "format", "sort", "order", "by", "past")
# What a page keeps in its address for itself: its links to CSV and JSON carry the whole address.
PAGE_NAMES: Final = ("cols", "tab", "offset", "run", "week", "group")
KNOWN: Final = frozenset({*WINDOW_NAMES, *FILTER_NAMES, *LIST_NAMES, *PAGE_NAMES})
MAX_VALUE: Final = 500


def create_blueprint(services: Services) -> Blueprint:
    """Returns /api/v1/*, /healthz and /metrics over ``services``."""
    blueprint = Blueprint("api", __name__)
    for path, answer in ANSWERS.items():
        blueprint.add_url_rule(f"/api/v1{path}", answer.__name__, _endpoint(services, answer), methods=["GET"])
    blueprint.add_url_rule("/api/v1/report", "report", lambda: report_answer.answer(services), methods=["GET"])
    notes_door.register(blueprint, services)
    tokens_door.register(blueprint, services)
    query_door.register(blueprint, services)
    backup_door.register(blueprint, services)
    rebuild_door.register(blueprint, services)
    quarantine_door.register(blueprint, services)
    blueprint.add_url_rule("/api/v1/<path:path>", "unknown", _unknown, methods=["GET"])
    blueprint.add_url_rule("/healthz", "healthz", lambda: _healthz(services), methods=["GET"])
    blueprint.add_url_rule("/metrics", "metrics", lambda: _metrics(services), methods=["GET"])
    blueprint.register_error_handler(BadRequest, lambda error: _refusal(400, str(error)))
    blueprint.register_error_handler(NotFound, lambda error: _refusal(404, str(error)))
    blueprint.register_error_handler(StoreError, _store_failed)
    blueprint.register_error_handler(Exception, _failed)
    return blueprint


def _endpoint(services: Services, answer: Answer) -> Any:
    def endpoint(**path: Any) -> Response:
        values = _values()
        with services.cursor() as cur:
            asked = _asked(services, cur, values)
            found = answer(asked, **path)
        if "items" in found and asked.csv:
            if found["next"] is not None and asked.wants_all:
                raise BadRequest(
                    f"These are more than {CSV_LIMIT:,} rows: ask for less time at once, "
                    "or for pages with limit and cursor."
                )
            response = Response(as_csv(found["items"]), content_type="text/csv; charset=utf-8")
            response.headers["Content-Disposition"] = f'attachment; filename="gpuledger-{answer.__name__[:-1]}.csv"'
            return _fresh(response)
        return _json(200, found)

    return endpoint


def _values() -> dict[str, str]:
    for name in request.args:
        if name not in KNOWN:
            near = difflib.get_close_matches(name, KNOWN, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join((*WINDOW_NAMES, *FILTER_NAMES))}."
            raise BadRequest(f"The parameter {name[:40]!r} is not known; {hint}")
    return {name: value[:MAX_VALUE] for name, value in request.args.items()}


def _asked(services: Services, cur: Cursor, values: dict[str, str]) -> Asked:
    now_ms = services.now_ms()
    to_ms = data_to(cur)
    # A node whose clock runs ahead does not move everybody's window into the future.
    as_of_ms = now_ms if to_ms is None else min(to_ms, now_ms)
    return Asked(cur, services.viewer(), now_ms, as_of_ms, services.site.zone, values)


def _unknown(path: str) -> Response:
    known = ", ".join(sorted({name.split("/")[1] for name in ANSWERS}))
    return _refusal(404, f"There is no /api/v1/{path[:60]}; known are {known}.")


def _healthz(services: Services) -> Response:
    """Whether this process answers and its database does; whether the numbers can be trusted is /api/v1/health."""
    with services.cursor() as cur:
        to_ms = data_to(cur)
    age_s = None if to_ms is None else max(0, services.now_ms() - to_ms) / 1000
    return _json(200, {"status": "ok", "version": services.version, "data_age_s": age_s})


def _metrics(services: Services) -> Response:
    with services.cursor() as cur:
        text = openmetrics.render(cur, services.viewer(), services.now_ms(), services.version)
    return _fresh(Response(text, content_type=openmetrics.CONTENT_TYPE))


def _store_failed(error: StoreError) -> Response:
    log.warning("path=%s failed error=%r", request.path, str(error))
    response = _refusal(503, str(error))
    response.headers["Retry-After"] = "10"
    return response


def _failed(error: Exception) -> Response | HTTPException:
    """A fault of ours: the log has it all, the answer nothing of it."""
    if isinstance(error, HTTPException):
        return error
    log.error("path=%s failed", request.path, exc_info=error)
    return _refusal(500, "The hub failed on this question, which is a fault to report with its log.")


def _refusal(status: int, sentence: str) -> Response:
    return _json(status, {"error": sentence})


def _json(status: int, value: object) -> Response:
    return _fresh(Response(msgspec.json.encode(value), status, content_type="application/json"))


def _fresh(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response
