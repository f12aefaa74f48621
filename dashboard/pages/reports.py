"""Reports: the archive of weekly reports, kept as made."""

import shlex
from collections.abc import Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from dash import html
from dash.development.base_component import Component

from analytics.queries import reports as queries
from analytics.queries.reports import ReportRow
from analytics.reports.weeks import last_closed_week
from analytics.wording import plural
from dashboard.components import cards, tables
from dashboard.components.links import copy_button
from dashboard.components.marks import moment, name
from dashboard.components.pages import page_links, page_offset
from dashboard.page import Page
from dashboard.request import Request

PER_PAGE: Final = 50
FIRST: Final = "The first report is made after the first complete week, Monday 08:00."


def body(request: Request) -> Sequence[Any]:
    """Returns the archive, newest week first."""
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    return [region("archive", "The archive", lambda: _archive(request))]


def _archive(request: Request) -> Component:
    page = queries.archive(request.cur, request.viewer, limit=PER_PAGE, offset=page_offset(request))
    if not page.items:
        command = f"{request.services.program} report --hub {shlex.quote(request.site.url)} -o report.html"
        return cards.card(
            "No report yet",
            cards.empty(
                _when(request),
                next_step=["For the week so far: ", html.Code(command), " ", copy_button(command, "the command")],
            ),
            id="archive",
        )
    columns = [
        tables.Column(title="Week"),
        tables.Column(title="Scope"),
        tables.Column(title="Revision", number=True),
        tables.Column(title="Made"),
        tables.Column(title="Data to"),
    ]
    return cards.card(
        plural(page.count, "report"),
        [
            tables.table(columns, [_row(request, row) for row in page.items], caption="Weekly reports"),
            page_links(request, PER_PAGE, page.count, page.next),
        ],
        id="archive",
    )


def _when(request: Request) -> str:
    store = request.store
    if store.data_from_ms is None or store.data_to_ms is None:
        return FIRST
    week = last_closed_week(store.data_from_ms, store.data_to_ms, request.zone)
    return FIRST if week is None else f"The report of {week.label} is made once its data is summed, within minutes."


def _row(request: Request, row: ReportRow) -> Sequence[Any]:
    href = f"/reports/{quote(row.scope, safe='')}/{quote(row.week, safe='')}/{row.revision}"
    return (
        html.A(row.week, href=href, target="_blank", className="strong-link"),
        name(row.scope),
        str(row.revision),
        moment(row.made_ms, request.zone),
        moment(row.data_to_ms, request.zone),
    )


PAGE: Final = Page(
    module="reports",
    path="/reports",
    name="Reports",
    question="What was said about which week?",
    body=body,
    icon="reports",
    group="Improve",
    order=60,
)
