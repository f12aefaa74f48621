"""`gpuledger token`: who may deliver segments."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click
import msgspec

from gpuledger.answers import told
from gpuledger.errors import Refused
from gpuledger.invoked import callable_here
from gpuledger.options import configured
from gpuledger.settings import Settings

if TYPE_CHECKING:
    from store.database import Cursor


NONE_YET = "There is no token yet; `gpuledger token add NAME` makes one."


@click.group("token")
def command() -> None:
    """Make, list and revoke the tokens with which nodes deliver. On the hub's own machine, by its owner."""


@command.command("add")
@click.argument("name")
@configured
def add(settings: Settings, data: Path, name: str) -> None:
    """Make a token called NAME and print it: the only time it can be seen."""
    from gpuledger.wiring import clock_ms
    from store import tokens

    answer = told(data, "POST", "/api/v1/tokens", {"name": name})
    if answer is not None:
        click.echo(answer["token"])
        return
    with _store(settings, data, makes=True) as cursor:
        click.echo(tokens.create(cursor, name, clock_ms()))


@command.command("list")
@configured
def list_(settings: Settings, data: Path) -> None:
    """List the tokens by name; a token itself is never shown again."""
    from analytics.wording import format_time
    from store import tokens

    answer = told(data, "GET", "/api/v1/tokens", None)
    if answer is None:
        with _store(settings, data) as cursor:
            listed = tokens.listed(cursor)
    else:
        listed = msgspec.convert(answer["items"], list[tokens.Token])
    if not listed:
        click.echo(callable_here(NONE_YET, ["--data", str(data)]))
    for token in listed:
        made = format_time(token.made_ms, settings.site.zone)
        gone = f", revoked {format_time(token.revoked_ms, settings.site.zone)}" if token.revoked_ms else ""
        click.echo(f"{token.name}: made {made}{gone}")


@command.command("revoke")
@click.argument("name")
@configured
def revoke(settings: Settings, data: Path, name: str) -> None:
    """Take the token called NAME back."""
    from gpuledger.wiring import clock_ms
    from store import tokens

    if told(data, "DELETE", f"/api/v1/tokens/{quote(name, safe='')}", None) is not None:
        return
    with _store(settings, data) as cursor:
        tokens.revoke(cursor, name, clock_ms())


@contextlib.contextmanager
def _store(settings: Settings, data: Path, *, makes: bool = False) -> Iterator["Cursor"]:
    """Opens the store; only ``makes`` makes one, since what was merely looked for must not come to be."""
    from store.database import Database, database_file
    from store.errors import StoreError

    if not makes and not database_file(data).exists():
        raise Refused(f"{data} holds no store. {NONE_YET}")
    try:
        with Database.open(data, settings=settings.store) as database, database.cursor() as cursor:
            yield cursor
    except StoreError as error:
        raise Refused(str(error)) from error
