"""`gpuledger quarantine`: segments that could not be read."""

from pathlib import Path

import click
import msgspec

from gpuledger.answers import opened, told
from gpuledger.errors import Refused
from gpuledger.options import configured
from gpuledger.printing import visible
from gpuledger.settings import Settings


@click.group("quarantine")
def command() -> None:
    """List segments that could not be read, and take them in again. On the hub's own machine, by its owner."""


@command.command("list")
@configured
def list_(settings: Settings, data: Path) -> None:
    """List the reasons, with how many segments each keeps out."""
    from analytics.wording import format_time, plural
    from store.second_try import Aside, aside

    answer = told(data, "GET", "/api/v1/quarantine", None)
    if answer is None:
        with opened(settings, data) as database:
            listed = aside(database)
    else:
        listed = msgspec.convert(answer["items"], list[Aside])
    if not listed:
        click.echo("Nothing was put aside.")
    for each in listed:
        kept = "" if each.kept == each.segments else f", {each.kept} of them kept"
        newest = format_time(each.newest_ms, settings.site.zone)
        click.echo(f"{plural(each.segments, 'segment')}{kept}, the newest of {newest}: {visible(each.reason)}")


@command.command("retry")
@configured
def retry(settings: Settings, data: Path) -> None:
    """Take in again what is kept, as after an upgrade of the hub. What is refused again stays."""
    from analytics.wording import plural
    from gpuledger.wiring import clock_ms
    from store.errors import StoreError
    from store.second_try import Tried, try_again

    answer = told(data, "POST", "/api/v1/quarantine", {}, timeout_s=None)
    if answer is None:
        try:
            with opened(settings, data, read_only=False) as database:
                tried = try_again(database, clock_ms())
        except StoreError as error:
            raise Refused(str(error)) from error
    else:
        tried = msgspec.convert(answer, Tried)
    click.echo(f"{plural(tried.stored, 'segment')} with {plural(tried.rows, 'row')} taken in, {tried.refused} refused.")
    for reason in tried.reasons:
        click.echo(visible(reason))
    if tried.refused:
        raise click.exceptions.Exit(1)
