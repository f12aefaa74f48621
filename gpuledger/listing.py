"""Lists of the API as tables, JSON or CSV."""

from collections.abc import Mapping

import msgspec

from gpuledger.answers import open_answers
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
    """Prints a list of the API in ``form``: text, json or csv."""
    with open_answers(settings, source) as answers:
        if form == "csv":
            emit(answers.raw(listing.path, {**parameters, "format": "csv"}).decode())
            return
        found = answers.json(listing.path, parameters)
    if form == "json":
        emit(as_json(found))
    elif found["items"]:
        emit(table(found["items"], listing.columns, listing.right))
        if found["next"]:
            emit("More rows follow; --limit prints more of them.")
    else:
        emit(listing.nothing)
