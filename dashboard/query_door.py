"""Answers a SELECT of the hub's owner: what it may read is every job of everybody, so nobody else is let in."""

import threading
from typing import Annotated, Final

import msgspec
from flask import Blueprint, Response, request

from analytics.requests import BadRequest
from dashboard.owner import answer, stranger
from dashboard.services import Services
from store.asking import MOST_ROWS, MOST_S, BadQuery, ask
from store.errors import QueryTimeout

_BUSY: Final = "Another query is being answered; ask again when it has its answer."


class _Given(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sql: str
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROWS)]
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=MOST_S)]


def register(blueprint: Blueprint, services: Services) -> None:
    """Adds POST /api/v1/query."""
    one = threading.Lock()  # pages and ingest need the cores and the memory too

    @blueprint.post("/api/v1/query")
    def query() -> Response:
        if refusal := stranger("Queries are answered", "gpuledger query SQL"):
            return refusal
        try:
            given = msgspec.json.decode(request.get_data(), type=_Given)
        except msgspec.DecodeError as error:
            raise BadRequest(str(error)) from error
        if not one.acquire(blocking=False):
            return answer(503, {"error": _BUSY})
        try:
            with services.cursor() as cursor:
                return answer(200, ask(cursor.database, given.sql, given.limit, given.timeout_s))
        except (BadQuery, QueryTimeout) as error:
            raise BadRequest(str(error)) from error
        finally:
            one.release()
