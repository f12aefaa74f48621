"""Segments that were put aside: listed, and taken in again, for the hub's owner alone."""

from flask import Blueprint, Response

from dashboard.owner import answer, stranger
from dashboard.services import Services
from store.second_try import aside, try_again


def register(blueprint: Blueprint, services: Services) -> None:
    """Adds GET and POST /api/v1/quarantine; POST answers when all were tried again."""

    @blueprint.get("/api/v1/quarantine")
    def list_aside() -> Response:
        if refusal := stranger("They are listed", "gpuledger quarantine list"):
            return refusal
        with services.cursor() as cursor:
            return answer(200, {"items": aside(cursor.database)})

    @blueprint.post("/api/v1/quarantine")
    def retry() -> Response:
        if refusal := stranger("They are tried again", "gpuledger quarantine retry"):
            return refusal
        with services.cursor() as cursor:
            return answer(200, try_again(cursor.database, services.now_ms()))
