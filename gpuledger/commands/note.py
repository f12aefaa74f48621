"""`gpuledger note`: dated notes that the charts of all pages show at their time."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpuledger.answers import open_answers, store_in, told
from gpuledger.errors import USAGE, Refused
from gpuledger.invoked import callable_here
from gpuledger.options import WholeNumber, caller, configured
from gpuledger.settings import Settings
from gpuledger.source import Source

if TYPE_CHECKING:
    from store.database import Cursor

T = TypeVar("T")
KINDS = ("maintenance", "policy", "deadline")
NONE_YET = "There is no note yet; `gpuledger note add TEXT` pins one."
NUMBERS = WholeNumber(1, (1 << 31) - 1)


@click.group("note")
def command() -> None:
    """Pin, list and remove dated notes: maintenance, a policy, a deadline. On the hub's own machine."""


@command.command("add")
@click.argument("text")
@click.option("--at", "at", help="Day or time, such as 2026-11-30T08:00 (site's zone); default: now.")
@click.option("--until", help="Day or time where it ends; default: it is of a moment.")
@click.option("--kind", type=click.Choice(KINDS), default="maintenance", show_default=True, help="What it is about.")
@configured
def add(settings: Settings, data: Path, text: str, at: str | None, until: str | None, kind: str) -> None:
    """Pin TEXT to a moment."""
    from gpuledger.wiring import clock_ms
    from store import notes

    zone = settings.site.zone
    given: dict[str, Any] = {
        "at_ms": _moment("--at", at, zone) if at else clock_ms(),
        "until_ms": _moment("--until", until, zone) if until else None,
        "kind": kind,
        "text": text,
        "who": caller(),
    }
    answer = told(data, "POST", "/api/v1/notes", given)
    if answer is None:
        number = _at_rest(settings, data, lambda cursor: notes.add(cursor, **given, now_ms=clock_ms()))
    else:
        number = answer["note_id"]
    click.echo(f"Note {number} is pinned.")


@command.command("list")
@configured
def list_(settings: Settings, data: Path) -> None:
    """List the notes, the newest moment first."""
    from analytics.wording import format_time

    with open_answers(settings, Source(data=data)) as answers:
        listed = answers.json("/api/v1/notes", {"limit": 1000})["items"]
    if not listed:
        click.echo(callable_here(NONE_YET, ["--data", str(data)]))
    zone = settings.site.zone
    for note in listed:
        until = f" to {format_time(note['until_ms'], zone)}" if note["until_ms"] is not None else ""
        said = f"{note['note_id']}: {format_time(note['at_ms'], zone)}{until}, {note['kind']}: {note['text']}"
        click.echo(f"{said} (by {note['who']})")


@command.command("remove")
@click.argument("number", type=NUMBERS)
@configured
def remove(settings: Settings, data: Path, number: int) -> None:
    """Take the note of this NUMBER away."""
    from store import notes

    if told(data, "DELETE", f"/api/v1/notes/{number}", None) is None:
        _at_rest(settings, data, lambda cursor: notes.remove(cursor, number))
    click.echo(f"Note {number} is gone.")


def _moment(name: str, text: str, zone: str) -> int:
    from analytics.requests import BadRequest, moment_ms

    try:
        return moment_ms(name, text, zone)
    except BadRequest as error:
        raise Refused(str(error), exit_code=USAGE) from error


def _at_rest(settings: Settings, data: Path, work: "Callable[[Cursor], T]") -> T:
    """Works on the store of a hub that does not run."""
    from store.database import Database
    from store.errors import StoreError
    from store.notes import BadNote

    chosen = store_in(data)
    if chosen is None:
        raise Refused(f"{data} holds no data yet; start `gpuledger up --data {data}`, or name another with --data.")
    try:
        with Database.open(chosen, settings=settings.store) as database, database.cursor() as cursor:
            return work(cursor)
    except (StoreError, BadNote) as error:
        raise Refused(str(error)) from error
