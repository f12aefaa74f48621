"""Pins and removes dated notes: for the hub's owner alone."""

import msgspec
from flask import Blueprint, Response, request

from analytics.requests import BadRequest
from dashboard.owner import answer, stranger
from dashboard.services import Services
from store import notes


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
        return answer(200, {"note_id": number})

    @blueprint.delete("/api/v1/notes/<int:number>")
    def take_away(number: int) -> Response:
        if refusal := _stranger():
            return refusal
        try:
            with services.cursor() as cursor:
                notes.remove(cursor, number)
        except notes.BadNote as error:
            raise BadRequest(str(error)) from error
        return answer(200, {"note_id": number})


def _stranger() -> Response | None:
    return stranger("Notes are made", "gpuledger note add")
