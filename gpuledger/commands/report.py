"""`gpuledger report`."""

from pathlib import Path

import click

from gpuledger.answers import open_answers
from gpuledger.errors import FAILED, Refused
from gpuledger.options import asking, caller
from gpuledger.printing import emit
from gpuledger.settings import Settings
from gpuledger.source import Source


@click.command("report")
@asking
@click.option("--week", help="ISO week such as 2026-W48 (default: the last complete one, else the week so far).")
@click.option("--scope", default="cluster", show_default=True, help="cluster, account:NAME or user:NAME (user:me).")
@click.option(
    "--format", "form", type=click.Choice(["html", "text", "json"]), help="Default: by the name of -o, else text."
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
def command(
    settings: Settings, source: Source, week: str | None, scope: str, form: str | None, output: Path | None
) -> None:
    """Make the weekly efficiency report."""
    whose = f"user:{caller()}" if scope == "user:me" else scope
    chosen = form or ("html" if output is not None and output.suffix in {".html", ".htm"} else "text")
    with open_answers(settings, source) as answers:
        report = answers.raw("/api/v1/report", {"scope": whose, "week": week, "format": chosen})
    if output is None:
        emit(report.decode())
        return
    try:
        output.write_bytes(report)
    except OSError as error:
        raise Refused(f"{output} cannot be written ({error.strerror}); name another file.", exit_code=FAILED) from error
    click.echo(f"{output} written.")
