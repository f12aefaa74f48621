"""`gpuledger doctor`."""

from pathlib import Path

import click
import msgspec

from gpuledger.errors import FAILED
from gpuledger.invoked import callable_here
from gpuledger.options import configured
from gpuledger.printing import as_json, emit, visible
from gpuledger.settings import Settings

MARKS = {"good": "ok  ", "note": "note", "bad": "BAD "}


@click.command("doctor")
@configured
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
def command(settings: Settings, data: Path, json_: bool) -> None:
    """Say what works here, and how to mend the rest. Exits 1 when something is bad."""
    from gpuledger.doctor import examine

    checks = examine(settings.collector, settings.site.cluster, data)
    if json_:
        emit(as_json(msgspec.to_builtins(checks)))
    else:
        for check in checks:
            step = f" - {callable_here(check.fix)}" if check.fix else ""
            emit(f"{MARKS[check.state]} {check.name:<9} {visible(check.found)}{step}")
    if any(check.state == "bad" for check in checks):
        raise click.exceptions.Exit(FAILED)
