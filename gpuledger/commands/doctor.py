"""`gpuledger doctor`."""

from pathlib import Path

import click
import msgspec

from gpuledger.options import read_node_settings
from gpuledger.printing import as_json, emit, visible

MARKS = {"good": "ok  ", "note": "note", "bad": "BAD "}


@click.command("doctor")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration file.")
@click.option("--data", type=click.Path(path_type=Path), default=Path("/var/lib/gpuledger"), help="Data directory.")
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
def command(config: Path | None, data: Path, json_: bool) -> None:
    """Say what works here, and how to mend the rest. Exits 1 when something is bad."""
    from gpuledger.doctor import examine

    checks = examine(read_node_settings(config), data)
    if json_:
        emit(as_json(msgspec.to_builtins(checks)))
    else:
        for check in checks:
            step = f" - {check.fix}" if check.fix else ""
            emit(f"{MARKS[check.state]} {check.name:<9} {visible(check.found)}{step}")
    if any(check.state == "bad" for check in checks):
        raise click.exceptions.Exit(1)
