"""A report as self-contained HTML (inlined styles, tables, no script, no image) and as plain text of 78 columns."""

import functools
import textwrap
from collections.abc import Sequence
from typing import Final

import css_inline
from jinja2 import Environment, PackageLoader, StrictUndefined

from analytics.reports.model import Cell, Document, Link, Report, Section, Table
from analytics.wording import format_time

WIDTH: Final = 78
_BAR_STEPS: Final = 100


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("analytics.reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.tests["link"] = lambda cell: isinstance(cell, Link)
    environment.filters["percent"] = lambda ratio: round(ratio * _BAR_STEPS)
    return environment


def render_html(report: Report) -> str:
    """Returns the report as one HTML document: 600 px, fit for mail, dark-safe, printable."""
    template = _environment().get_template("report.html.j2")
    made = format_time(report.made_ms, report.site.zone)
    data_to = format_time(report.data_to_ms, report.site.zone)
    page = template.render(report=report, made=made, data_to=data_to)
    return css_inline.CSSInliner(load_remote_stylesheets=False, keep_style_tags=True).inline(page)


def render_print(document: Document) -> str:
    """Returns a page as one HTML document for paper: light, 180 mm wide, drawings inline, no script."""
    made = format_time(document.made_ms, document.site.zone)
    data_to = format_time(document.data_to_ms, document.site.zone)
    return _environment().get_template("print.html.j2").render(document=document, made=made, data_to=data_to)


def render_text(report: Report) -> str:
    """Returns the report as plain text."""
    lines = [report.title, "=" * len(report.title)]
    if report.synthetic:
        lines += ["Synthetic cluster: none of this happened."]
    if report.partial:
        lines += [f"The week so far, to {format_time(report.data_to_ms, report.site.zone)}."]
    if report.loading:
        lines += textwrap.wrap(report.loading, WIDTH)
    for section in report.sections:
        lines += ["", section.title, "-" * len(section.title), *_section(section)]
    lines += ["", f"Made {format_time(report.made_ms, report.site.zone)} ({report.site.zone})."]
    return "\n".join(_plain(line) for line in lines) + "\n"


def _section(section: Section) -> list[str]:
    lines = [line for paragraph in section.paragraphs for line in _paragraph(paragraph)]
    if section.lines:
        lines += ["", *(f"    {line}" for line in section.lines)]
    if section.before_lines or section.after_lines:
        lines += ["", "  now:", *(f"    {line}" for line in section.before_lines)]
        after = section.after_lines or ("(leave these lines out)",)
        lines += ["  next time:", *(f"    {line}" for line in after)]
    if section.table:
        lines += [""] if lines else []
        lines += _table(section.table)
    return lines


def _paragraph(cell: Cell) -> list[str]:
    """Plain text has no links: the address stands below, whole, so that it can be clicked or copied."""
    lines = textwrap.wrap(_text(cell), WIDTH, break_on_hyphens=False)
    return [*lines, f"  {cell.href}"] if isinstance(cell, Link) and cell.href.startswith("http") else lines


def _table(table: Table) -> list[str]:
    rows: list[Sequence[Cell]] = [table.columns, *table.rows]
    if table.total:
        rows.append(table.total)
    cells = [[textwrap.shorten(_text(cell), 40, placeholder="...") for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(table.columns))]
    right = [name in table.numbers for name in table.columns]
    lines = [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    ]
    rule = "-" * max(len(line) for line in lines)
    lines.insert(1, rule)
    if table.total:
        lines.insert(-1, rule)
    return lines


def _text(cell: Cell) -> str:
    return cell.text if isinstance(cell, Link) else cell


def _plain(line: str) -> str:
    # A job name must not write to somebody's terminal or break a line.
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
