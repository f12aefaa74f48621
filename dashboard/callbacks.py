"""What a callback of a page may be asked with: a request that no page of ours sends is refused in one sentence.

Dash looks up what it is sent without looking at it, so that a made-up request, or one of a page that was loaded before
the hub was renewed, would be a fault of ours with a traceback in the log.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from dash import Dash
from flask import Response, request

PATH: Final = "/_dash-update-component"
LOCATION: Final = "_pages_location"
"""Dash's own id of the address."""


class BadCall(ValueError):
    """Values that no page of ours sends; the message is a part of a sentence."""


class _Place(msgspec.Struct, frozen=True):
    """A property of a component, or of one of those that a pattern names, with its value."""

    id: str | dict[str, Any]
    property: str
    value: Any = None


_Places = list[_Place | list[_Place]]


class _Call(msgspec.Struct, frozen=True, rename="camel"):
    output: str
    outputs: _Place | _Places
    inputs: _Places
    state: _Places = []
    changed_prop_ids: list[str] = []


def install(app: Dash) -> None:
    """Refuses a malformed request for a callback by 400, before Dash and from within a callback."""

    @app.server.before_request
    def check() -> Response | None:
        if request.path != PATH or request.method != "POST":
            return None
        try:
            _check(app, msgspec.json.decode(request.get_data(), type=_Call))
        except (msgspec.DecodeError, RecursionError) as error:
            return _refused(BadCall(str(error)))
        except BadCall as error:
            return _refused(error)
        return None

    app.server.register_error_handler(BadCall, _refused)


def _refused(error: BadCall) -> Response:
    said = f"No page of this version asks like that ({str(error)[:200]}); load the page again."
    return Response(msgspec.json.encode({"error": said}), 400, content_type="application/json")


def _check(app: Dash, call: _Call) -> None:
    known = app.callback_map.get(call.output)
    if known is None or known.get("callback") is None:
        raise BadCall("there is no such callback")
    outputs = known["output"] if isinstance(known["output"], list) else [known["output"]]
    given = call.outputs if isinstance(call.outputs, list) else [call.outputs]
    _fit("outputs", [one.to_dict() for one in outputs], given)
    _fit("inputs", known["inputs"], call.inputs)
    _fit("state", known["state"], call.state)


def _fit(what: str, wanted: Sequence[dict[str, Any]], given: Sequence[_Place | list[_Place]]) -> None:
    if len(wanted) != len(given) or not all(map(_fits, wanted, given)):
        raise BadCall(f"{what} are not those of the callback")


def _fits(wanted: dict[str, Any], given: _Place | list[_Place]) -> bool:
    id, name = str(wanted["id"]), wanted["property"]
    if '["ALL"]' in id:
        return isinstance(given, list) and all(_is_one_of_many(one, name) for one in given)
    if not isinstance(given, _Place):
        return False
    if '["MATCH"]' in id:
        return _is_one_of_many(given, name)
    of_address = given.id == LOCATION and name in ("pathname", "search")
    return given.id == id and given.property == name and (not of_address or isinstance(given.value, str))


def _is_one_of_many(given: _Place, name: str) -> bool:
    return isinstance(given.id, dict) and given.property == name
