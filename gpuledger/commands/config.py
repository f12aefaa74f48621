"""`gpuledger config check`."""

from pathlib import Path

import click

from gpuledger.config import DEFAULT_CONFIG
from gpuledger.errors import USAGE, Refused
from gpuledger.options import read_settings
from gpuledger.remote import address_parts
from gpuledger.settings import why_not_to_listen


@click.group("config")
def command() -> None:
    """Check the configuration file."""


@command.command("check")
@click.argument("file", required=False, type=click.Path(path_type=Path))
def check(file: Path | None) -> None:
    """Validate FILE (default: the installed one): keys, values, and what `serve` and `collect` would refuse."""
    path = file or DEFAULT_CONFIG
    settings = read_settings(path)
    if reason := why_not_to_listen(settings.hub):
        raise Refused(f"{path}: {reason}", exit_code=USAGE)
    try:
        address_parts(settings.collector.hub)
    except Refused as error:
        raise Refused(f"{path}: collector.hub: {error}", exit_code=USAGE) from error
    click.echo(
        f"{path}: good. Site {settings.site.name!r}, cluster {settings.site.cluster!r}, data in {settings.hub.data}."
    )
