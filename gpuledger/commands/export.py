"""`gpuledger export`."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
import msgspec

from gpuledger.answers import opened, told
from gpuledger.errors import USAGE, Refused
from gpuledger.options import configured
from gpuledger.settings import Settings

if TYPE_CHECKING:
    from store.export import Exported

LAST_MS = (1 << 45) - 1
"""Later than any moment that can be given."""


@click.command("export")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["parquet", "csv"]), required=True, help="Parquet, or CSV.")
@click.option("--from", "start", help="First day or time, such as 2026-11-23 (site's zone); default: all.")
@click.option("--to", "end", help="Day or time where it ends.")
@configured
def command(
    settings: Settings,
    data: Path,
    directory: Path,
    form: Literal["parquet", "csv"],
    start: str | None,
    end: str | None,
) -> None:
    """Write runs, findings, hours and raw rows of everybody into DIRECTORY, as plain files in natural units.

    By the hub's owner, while the hub runs or not. DIRECTORY is empty or does not exist, and the user of the hub can
    write beside it. docs/query.md says what the columns are.
    """
    from analytics.wording import plural
    from store.export import Exported

    zone = settings.site.zone
    from_ms = _moment("--from", start, zone) if start else 0
    to_ms = _moment("--to", end, zone) if end else LAST_MS
    if to_ms <= from_ms:
        raise Refused("--to lies after --from; look at both.", exit_code=USAGE)
    given = {"directory": str(directory.absolute()), "form": form, "from_ms": from_ms, "to_ms": to_ms}
    answer = told(data, "POST", "/api/v1/export", given, timeout_s=None)
    if answer is None:
        done = _at_rest(settings, data, directory, form, (from_ms, to_ms))
    else:
        done = msgspec.convert(answer, Exported)
    for name, rows in done.rows.items():
        click.echo(f"{name}: {plural(rows, 'row')}")
    click.echo(f"{plural(done.files, 'file')} in {directory}.")


def _at_rest(
    settings: Settings, data: Path, directory: Path, form: Literal["parquet", "csv"], span: tuple[int, int]
) -> "Exported":
    from store.errors import StoreError
    from store.export import export

    try:
        with opened(settings, data) as database:
            return export(database, directory, form, *span)
    except StoreError as error:
        raise Refused(str(error)) from error


def _moment(name: str, text: str, zone: str) -> int:
    from analytics.requests import BadRequest, moment_ms

    try:
        return moment_ms(name, text, zone)
    except BadRequest as error:
        raise Refused(str(error), exit_code=USAGE) from error
