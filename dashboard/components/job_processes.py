"""The programs that ran on a run's GPUs, folded: most people look for them only when something is odd."""

from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.queries.job import JobDetail, ProcessRow
from analytics.wording import format_mib, plural
from dashboard.components import cards
from dashboard.components.marks import icon, moment, name, unknown, value
from dashboard.components.tables import Column, table
from dashboard.request import Request

COLUMNS: Final = (
    Column(title="GPU"),
    Column(title="Program"),
    Column(title="PID", number=True, phone=False),
    Column(title="User", phone=False),
    Column(title="From"),
    Column(title="To"),
    Column(title="Peak memory", number=True),
)


def card(request: Request, run: JobDetail) -> Component | None:
    """Returns the processes as a folded table; nothing where none was seen."""
    found = run.processes
    if not found.items and not found.more:
        return None
    rows = [_row(request, row) for row in found.items]
    more = f"{plural(found.more, 'process', 'processes')} more ran and are not listed." if found.more else None
    said = f"Show {plural(len(rows), 'process', 'processes')}"
    return cards.card(
        "Processes",
        html.Details(
            [
                html.Summary([icon("table"), said], className="fold"),
                table(COLUMNS, rows, caption="Programs on the GPUs of this run"),
                html.P(more, className="muted") if more else None,
            ]
        ),
        id="processes",
        note="Programs by name, as the node saw them every few seconds; one that ran for less may be missing.",
    )


def _row(request: Request, row: ProcessRow) -> tuple[Any, ...]:
    return (
        name(row.gpu),
        name(row.program, _why_no_name(row)),
        str(row.pid),
        _user(row),
        moment(row.first_ms, request.zone),
        moment(row.last_ms, request.zone),
        value(format_mib(row.mem_max_mib), "the driver does not tell"),
    )


def _why_no_name(row: ProcessRow) -> str:
    return "the program of another user" if row.foreign else "it had ended before it could be asked"


def _user(row: ProcessRow) -> Component | str:
    if row.user is not None:
        return name(row.user)
    if row.uid is not None:
        return f"uid {row.uid}"
    return "another user" if row.foreign else unknown("it had ended before it could be asked")
