"""Pins and removes dated notes: only through the hub's socket file, since before sign-in nobody else is known.

A page of any other site cannot reach that file, and neither can a browser.
"""

from typing import Final

import msgspec
from flask import Blueprint, Response, request

from analytics.requests import BadRequest
from dashboard.services import Services
from store import notes

OWNER: Final = "gpuledger.owner"
"""Key in the ASGI scope of requests that came through the socket file."""


class _Given(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    at_ms: int
    until_ms: int | None = None
    kind: str
    text: str
    who: str


def register(blueprint: Blueprint, services: Services) -> None:
    """Adds POST /api/v1/notes and DELETE /api/v1/notes/NUMBER."""

    @blueprint.post("/api/v1/notes")
    def pin() -> Response:
        if refusal := _stranger():
            return refusal
        try:
            given = msgspec.json.decode(request.get_data(), type=_Given)
            with services.cursor() as cursor:
                number = notes.add(cursor, **msgspec.structs.asdict(given), now_ms=services.now_ms())
        except (msgspec.DecodeError, notes.BadNote) as error:
            raise BadRequest(str(error)) from error
        return _answer(200, {"note_id": number})

    @blueprint.delete("/api/v1/notes/<int:number>")
    def take_away(number: int) -> Response:
        if refusal := _stranger():
            return refusal
        try:
            with services.cursor() as cursor:
                notes.remove(cursor, number)
        except notes.BadNote as error:
            raise BadRequest(str(error)) from error
        return _answer(200, {"note_id": number})


def _stranger() -> Response | None:
    if request.environ.get("asgi.scope", {}).get(OWNER):
        return None
    return _answer(403, {"error": "Notes are made on the hub's own machine, by its owner: `gpuledger note add`."})


def _answer(status: int, value: object) -> Response:
    return Response(msgspec.json.encode(value), status, content_type="application/json")
