"""`gpuledger restore`."""

from pathlib import Path

import click

from gpuledger.errors import Refused
from gpuledger.options import configured
from gpuledger.settings import Settings


@click.command("restore")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Put a store that is there aside, into before-restore-TIME beside it.")
@configured
def command(settings: Settings, data: Path, directory: Path, *, replace: bool) -> None:
    """Put the backup in DIRECTORY into the data directory, which no hub uses. Every checksum is compared first."""
    from analytics.wording import format_time
    from gpuledger.synthetic import DIRECTORY
    from gpuledger.wiring import clock_ms
    from store.copies import read_manifest
    from store.errors import StoreError
    from store.restore import restore

    try:
        place = data / DIRECTORY if read_manifest(directory).synthetic else data
        made = restore(directory, place, clock_ms(), replace=replace)
    except StoreError as error:
        raise Refused(str(error)) from error
    to = format_time(made.data_to_ms, settings.site.zone) if made.data_to_ms else "before the first data"
    click.echo(f"{place} holds the store as it was backed up, with data up to {to}; start the hub.")
