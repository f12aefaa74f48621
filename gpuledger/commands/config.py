"""`gpuledger config check`."""

from pathlib import Path

import click

from gpuledger.config import DEFAULT_CONFIG
from gpuledger.options import read_settings


@click.group("config")
def command() -> None:
    """Check the configuration file."""


@command.command("check")
@click.argument("file", required=False, type=click.Path(path_type=Path))
def check(file: Path | None) -> None:
    """Validate FILE (default: the installed one); names the unknown key and the nearest known one."""
    path = file or DEFAULT_CONFIG
    settings = read_settings(path)
    click.echo(
        f"{path}: good. Site {settings.site.name!r}, cluster {settings.site.cluster!r}, data in {settings.hub.data}."
    )
