"""Lists of the API as tables, JSON or CSV."""

from collections.abc import Mapping
from typing import Any

import msgspec

from gpuledger.answers import Answers, open_answers
from gpuledger.errors import Refused
from gpuledger.printing import Column, as_json, emit, table
from gpuledger.settings import Settings
from gpuledger.source import Source


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """How one list of the API is printed for people. ``nothing`` is said where it is empty."""

    path: str
    columns: tuple[Column, ...]
    right: frozenset[str] = frozenset()
    nothing: str


def show(settings: Settings, source: Source, listing: Listing, parameters: Mapping[str, object], form: str) -> None:
    """Prints a list of the API in ``form``: text, json or csv.

    Raises Refused where it is empty because nobody bears a name that was asked for.
    """
    with open_answers(settings, source) as answers:
        found = listed(answers, listing.path, parameters)
        if form == "csv":
            emit(answers.raw(listing.path, {**parameters, "format": "csv"}).decode())
            return
    if form == "json":
        emit(as_json(found))
    elif found["items"]:
        emit(table(found["items"], listing.columns, listing.right))
        if found["next"]:
            emit("More rows follow; --limit prints more of them.")
    else:
        emit(listing.nothing)


def listed(answers: Answers, path: str, parameters: Mapping[str, object]) -> Any:
    """Returns a list of the API; raises Refused where it is empty because nobody bears a name that was asked for."""
    found = answers.json(path, parameters)
    if found["unknown"]:
        raise Refused(found["unknown"][0])
    return found
