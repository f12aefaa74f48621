"""`gpuledger backup`."""

from pathlib import Path

import click

from gpuledger.answers import opened, told
from gpuledger.errors import Refused
from gpuledger.options import configured
from gpuledger.settings import Settings


@click.command("backup")
@click.argument("directory", type=click.Path(path_type=Path))
@configured
def command(settings: Settings, data: Path, directory: Path) -> None:
    """Copy the whole store into DIRECTORY, while the hub runs or not. On the hub's own machine, by its owner.

    DIRECTORY is empty or does not exist, and the user of the hub can write there. It is whole once it has backup.json.
    """
    from analytics.wording import format_bytes, format_time, plural

    made = told(data, "POST", "/api/v1/backup", {"directory": str(directory.absolute())}, timeout_s=None)
    if made is None:
        made = _at_rest(settings, data, directory)
    to = format_time(made["data_to_ms"], settings.site.zone) if made["data_to_ms"] else "before the first data"
    click.echo(
        f"{directory} holds the store up to {to}: {plural(made['rows'], 'row')} in {plural(made['files'], 'file')}, "
        f"{format_bytes(made['bytes'])}."
    )


def _at_rest(settings: Settings, data: Path, directory: Path) -> dict[str, int]:
    import gpuledger
    from dashboard.backup_door import summary
    from gpuledger.wiring import clock_ms
    from store.backup import back_up
    from store.errors import StoreError

    try:
        with opened(settings, data) as database:
            return summary(back_up(database, directory, clock_ms(), gpuledger.__version__))
    except StoreError as error:
        raise Refused(str(error)) from error
