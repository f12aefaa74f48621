"""Makes, lists and revokes the tokens with which nodes deliver: for the hub's owner alone."""

from collections.abc import Callable
from typing import Final

import msgspec
from flask import Blueprint, Response, request

from analytics.requests import BadRequest
from dashboard.owner import answer, stranger
from dashboard.services import Services
from store import tokens
from store.database import Cursor
from store.errors import StoreError

_SYNTHETIC: Final = (
    "This hub shows a synthetic cluster, which takes no node's deliveries; stop it, and make the token then."
)


class _Given(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str


def register(blueprint: Blueprint, services: Services) -> None:
    """Adds GET and POST /api/v1/tokens and DELETE /api/v1/tokens/NAME."""

    def worked(work: Callable[[Cursor], object]) -> Response:
        if refusal := stranger("Tokens are made", "gpuledger token add NAME"):
            return refusal
        with services.cursor() as cursor:
            if cursor.database.synthetic:
                raise BadRequest(_SYNTHETIC)
            try:
                return answer(200, work(cursor))
            except (StoreError, msgspec.DecodeError) as error:
                raise BadRequest(str(error)) from error

    @blueprint.get("/api/v1/tokens")
    def list_tokens() -> Response:
        return worked(lambda cursor: {"items": tokens.listed(cursor)})

    @blueprint.post("/api/v1/tokens")
    def make_token() -> Response:
        return worked(lambda cursor: {"token": tokens.create(cursor, _name(), services.now_ms())})

    @blueprint.delete("/api/v1/tokens/<name>")
    def revoke_token(name: str) -> Response:
        def revoke(cursor: Cursor) -> object:
            tokens.revoke(cursor, name, services.now_ms())
            services.forget_tokens()
            return {"name": name}

        return worked(revoke)


def _name() -> str:
    return msgspec.json.decode(request.get_data(), type=_Given).name
