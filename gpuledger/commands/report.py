"""`gpuledger report`."""

from pathlib import Path

import click

from gpuledger.answers import open_answers
from gpuledger.errors import FAILED, USAGE, Refused
from gpuledger.options import asking, caller
from gpuledger.printing import emit
from gpuledger.settings import Settings
from gpuledger.source import Source

FORMS = {"": "text", ".txt": "text", ".html": "html", ".htm": "html", ".json": "json"}


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
    chosen = form or _form(output)
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


def _form(output: Path | None) -> str:
    """Returns the form that a file's name asks for; raises Refused where reports have no such form."""
    suffix = output.suffix.lower() if output else ""
    if suffix not in FORMS:
        raise Refused(
            f"A report is no {suffix} file; name one that ends in .html, .txt or .json, or choose with --format.",
            exit_code=USAGE,
        )
    return FORMS[suffix]
