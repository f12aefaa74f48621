"""How commands print: aligned tables for people, JSON for programs."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

Row = Mapping[str, Any]
Column = tuple[str, Callable[[Row], str]]
"""Heading, and how a row fills the column."""
MAX_CELL: Final = 48


def table(rows: Sequence[Row], columns: Sequence[Column], right: frozenset[str] = frozenset()) -> str:
    """Returns rows as aligned text; columns named in ``right`` are right-aligned. Control characters cannot pass."""
    cells = [[heading for heading, _ in columns]] + [[_cell(show(row)) for _, show in columns] for row in rows]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    lines = []
    for line in cells:
        parts = [
            cell.rjust(width) if heading in right else cell.ljust(width)
            for cell, width, (heading, _) in zip(line, widths, columns, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def _cell(text: str) -> str:
    # One long job name must not push every other row off the screen; --json and --csv have it whole.
    shown = visible(text)
    return shown if len(shown) <= MAX_CELL else shown[: MAX_CELL - 1] + "…"


def visible(text: str) -> str:
    """Returns text with control characters replaced: a job name must not write to somebody's terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def as_json(value: object) -> str:
    """Returns indented JSON, in UTF-8 as it is."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def emit(text: str) -> None:
    """Prints, replacing what the terminal's encoding cannot show."""
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "replace").decode(encoding), nl=not text.endswith("\n"))
