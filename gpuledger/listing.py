"""Lists of the API as tables, JSON or CSV."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click
import msgspec

from gpuledger.answers import Answers, open_answers
from gpuledger.errors import Refused
from gpuledger.printing import Column, Row, as_json, emit, table
from gpuledger.settings import Settings
from gpuledger.source import Source

LISTED: Final = 50
"""Rows of a table or of JSON where no other number is asked for."""
MAX_LIMIT: Final = 1000
"""Most rows that the API gives in one answer."""
_EVERY: Final = 1_000_000


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """How one list of the API is printed for people. ``nothing`` is said where it is empty.

    Rows are printed as a table of ``columns``, or each by ``say`` where that is given. ``whole``: it has no limit.
    ``judged``: what the rules say, so that it is not empty but unknown while runs wait for them.
    On a host without Slurm, where every row is of a session, headings are as ``of_sessions`` says; None: left out.
    """

    path: str
    columns: tuple[Column, ...] = ()
    say: Callable[[Row], str] | None = None
    right: frozenset[str] = frozenset()
    nothing: str
    whole: bool = False
    judged: bool = False
    of_sessions: Mapping[str, str | None] = {}


def show(
    settings: Settings,
    source: Source,
    listing: Listing,
    parameters: Mapping[str, object],
    form: str,
    limit: int | None = None,
) -> None:
    """Prints a list of the API in ``form``: text, json or csv.

    Without ``limit`` a CSV file has every row, and a table or JSON the first LISTED. Where rows are left out standard
    error says so.

    Raises Refused where it is empty because nobody bears a name that was asked for.
    """
    with open_answers(settings, source) as answers:
        found = listed(answers, listing.path, parameters, limit or (_EVERY if listing.whole else LISTED))
        if form == "csv":
            emit(answers.raw(listing.path, {**parameters, "limit": limit, "format": "csv"}).decode())
    if form == "json":
        emit(as_json(found))
    elif form == "text":
        emit(_as_text(listing, found["items"], found.get("loading")))
    if found["next"] and not (form == "csv" and limit is None):
        click.echo("More rows follow; --limit prints more of them.", err=True)


def _as_text(listing: Listing, rows: Sequence[Row], loading: str | None) -> str:
    if not rows:
        from analytics.queries.pending import NOT_JUDGED

        return NOT_JUDGED if loading and listing.judged else listing.nothing
    if listing.say is not None:
        return "\n\n".join(map(listing.say, rows))
    return table(rows, _columns(listing, rows), listing.right)


def _columns(listing: Listing, rows: Sequence[Row]) -> list[Column]:
    words = listing.of_sessions if all(row.get("kind") == "session" for row in rows) else {}
    named = [(words.get(heading, heading), show) for heading, show in listing.columns]
    return [(heading, show) for heading, show in named if heading is not None]


def listed(answers: Answers, path: str, parameters: Mapping[str, object], limit: int) -> Any:
    """Returns the first ``limit`` rows of a list of the API, asked for in pages.

    Raises Refused where it is empty because nobody bears a name that was asked for.
    """
    found = answers.json(path, {**parameters, "limit": min(limit, MAX_LIMIT)})
    while found["next"] and len(found["items"]) < limit:
        left = limit - len(found["items"])
        more = answers.json(path, {**parameters, "limit": min(left, MAX_LIMIT), "cursor": found["next"]})
        found = {**found, "items": found["items"] + more["items"], "next": more["next"]}
    if found["unknown"]:
        raise Refused(found["unknown"][0])
    return found
