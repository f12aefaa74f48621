"""`gpuledger query`."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from gpuledger.answers import opened, told
from gpuledger.errors import Refused
from gpuledger.options import WholeNumber, configured, printed
from gpuledger.printing import Row, as_json, emit, table
from gpuledger.settings import Settings

if TYPE_CHECKING:
    from store.asking import Found

MOST_ROWS = 1_000_000
MOST_S = 100


@click.command("query")
@click.argument("sql")
@click.option("--limit", type=WholeNumber(1, MOST_ROWS), default=1000, show_default=True, help="Most rows to print.")
@click.option(
    "--timeout", "timeout_s", type=WholeNumber(1, MOST_S), default=30, show_default=True, help="Seconds it may take."
)
@printed
@configured
def command(settings: Settings, data: Path, sql: str, limit: int, timeout_s: int, form: str) -> None:
    """Run one SELECT over the whole store, on the hub's own machine, by its owner.

    Views with natural units: gpu_samples, gpu_minutes, gpu_hours, runs, findings; `DESCRIBE gpu_hours` shows one.
    """
    from store.asking import Found

    answer = told(data, "POST", "/api/v1/query", {"sql": sql, "limit": limit, "timeout_s": timeout_s})
    found = _at_rest(settings, data, sql, limit, timeout_s) if answer is None else msgspec.convert(answer, Found)
    emit(_printed(found, form))
    if found.cut:
        click.echo(f"More rows follow these {len(found.rows):,}; --limit prints more of them.", err=True)


def _at_rest(settings: Settings, data: Path, sql: str, limit: int, timeout_s: int) -> "Found":
    from store.asking import ask
    from store.errors import StoreError

    try:
        with opened(settings, data) as database:
            return ask(database, sql, limit, timeout_s)
    except StoreError as error:
        raise Refused(str(error)) from error


def _printed(found: "Found", form: str) -> str:
    if form != "text":
        from dashboard.api_rows import as_csv

        unique = _unique(found.columns)
        rows = [dict(zip(unique, row, strict=True)) for row in found.rows]
        return as_json(rows) if form == "json" else as_csv(rows, unique)
    names = [str(position) for position in range(len(found.columns))]
    shown: list[Row] = [dict(zip(names, row, strict=True)) for row in found.rows]
    columns = [(heading, _cell(name)) for heading, name in zip(found.columns, names, strict=True)]
    return table(shown, columns)


def _cell(name: str) -> Any:
    return lambda row: "" if row[name] is None else str(row[name])


def _unique(columns: Sequence[str]) -> list[str]:
    """Names of columns may come twice in a SELECT; JSON has each once, the first under its own name."""
    unique: dict[str, None] = {}
    tried: Counter[str] = Counter()
    taken = set(columns)
    for name in columns:
        shown = name
        while shown in unique or (shown != name and shown in taken):
            tried[name] += 1
            shown = f"{name}_{tried[name]}"
        unique[shown] = None
    return list(unique)
