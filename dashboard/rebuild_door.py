"""Has everything derived computed anew, for the hub's owner alone; the hub's own jobs do it beside their work."""

from flask import Blueprint, Response

from dashboard.owner import answer, stranger
from dashboard.services import Services
from store.rebuild import mark_derived


def register(blueprint: Blueprint, services: Services) -> None:
    """Adds POST /api/v1/rebuild, which answers when all is marked."""

    @blueprint.post("/api/v1/rebuild")
    def rebuild() -> Response:
        if refusal := stranger("A store is rebuilt", "gpuledger rebuild"):
            return refusal
        with services.cursor() as cursor:
            return answer(200, mark_derived(cursor.database))
