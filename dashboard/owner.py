"""What only the hub's owner may do: through its socket file, since before sign-in nobody else is known.

A page of any other site cannot reach that file, and neither can a browser.
"""

from typing import Final

import msgspec
from flask import Response, request

OWNER: Final = "gpuledger.owner"
"""Key in the ASGI scope of requests that came through the socket file."""


def stranger(what: str, command: str) -> Response | None:
    """Returns the refusal of a request that did not come through the socket file, None of one that did."""
    if request.environ.get("asgi.scope", {}).get(OWNER):
        return None
    return answer(403, {"error": f"{what} on the hub's own machine, by its owner: `{command}`."})


def answer(status: int, value: object) -> Response:
    """Returns JSON that nobody keeps: it may be a token."""
    response = Response(msgspec.json.encode(value), status, content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response
