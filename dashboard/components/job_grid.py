"""The table of runs: AG Grid Community, infinite rows in pages of 50, sorted and filtered in SQL."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import dash_ag_grid as dag
import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from analytics.queries.jobs import JobPage, JobRow, JobTotals
from analytics.requests import MAX_LIMIT
from analytics.wording import (
    UNKNOWN,
    format_duration,
    format_gpu_h,
    format_iso,
    format_pct,
    format_ratio,
    format_time,
    number_gpu_h,
    plural,
    run_state,
)
from dashboard.components import cards
from dashboard.components.attributes import attributes
from dashboard.components.controls import control_id
from dashboard.components.marks import icon, short_model, strip_words
from dashboard.filters import job_path
from dashboard.request import Request
from dashboard.theme import GRID_THEME

PAGE_ROWS: Final = 50
GRID: Final = "jobs-grid"


class GridColumn(NamedTuple):
    """A column: ``sort`` is its name in the query, None where SQL cannot sort by it."""

    field: str
    head: str
    sort: str | None
    width: int
    number: bool = False
    meaning: str = ""


# What answers the page's question stands in view without scrolling sideways; who and where comes after it.
COLUMNS: Final = (
    GridColumn("job", "Id", "job", 120, meaning="Opens the page of this run"),
    GridColumn("name", "Name", "name", 150),
    GridColumn("user", "User", "user", 110),
    GridColumn("idle_gpu_h", "Idle GPU-h", "idle_gpu_h", 128, number=True, meaning="Held with utilization below 1 %"),
    GridColumn("gpu_h", "GPU-h", "gpu_h", 96, number=True, meaning="Held in this period"),
    GridColumn("util", "Utilization", "util", 118, number=True, meaning="Share of time in which a kernel ran"),
    GridColumn("strip", "What the GPUs did", None, 170, meaning="From start to end"),
    GridColumn("findings", "Findings", "findings", 220),
    GridColumn("gpus", "GPUs", "gpus", 170, meaning="Number and model"),
    GridColumn("elapsed", "Elapsed", "elapsed", 110, number=True),
    GridColumn("start", "Start", "start", 150, meaning="In the site's time zone"),
    GridColumn("state", "State", "state", 120),
    GridColumn("account", "Account", "account", 110),
    GridColumn("partition", "Partition", "partition", 110),
    GridColumn("memory", "Peak memory", "memory", 120, number=True, meaning="Of the GPU's memory"),
    GridColumn("sm", "SM activity", "sm", 110, number=True, meaning="Where the GPU offers it"),
    GridColumn("power", "Power", "power", 90, number=True, meaning="Mean, of the power limit"),
    GridColumn(
        "unknown_gpu_h", "Not measured", "unknown_gpu_h", 125, number=True, meaning="GPU-hours without a reading"
    ),
    GridColumn(
        "coverage", "Coverage", "coverage", 105, number=True, meaning="Share of held time with a usable reading"
    ),
)
RENDERERS: Final = {"job": "RunLink", "strip": "Strip", "findings": "Findings"}
LATER: Final = ("sm", "power", "unknown_gpu_h")
"""Columns that are not shown until chosen."""
DEFAULT_SORT: Final = "idle_gpu_h"


def grid(request: Request, page: JobPage) -> Component:
    """Returns the table of the request's runs with column chooser, exports and total row."""
    words, total = request.words, page.total
    query = urlencode(
        {**request.address.params, "range": request.view.span}
        if request.view.span != "custom"
        else request.address.params
    )
    return cards.card(
        words.runs.capitalize(),
        [
            html.P(
                [
                    plural(total.count, words.run, words.runs),
                    " · ",
                    format_gpu_h(total.gpu_h),
                    " · idle ",
                    format_gpu_h(total.idle_gpu_h),
                ],
                className="total-line",
                **attributes(data_total=repr(total.gpu_h), data_total_idle=repr(total.idle_gpu_h)),
            ),
            _ag_grid(request, total) if total.count else cards.empty(f"No {words.run} matches."),
        ],
        id="jobs",
        aside=[
            _chooser(request),
            html.A(
                [icon("download"), "CSV"],
                href=f"/api/v1/jobs?{query}&format=csv",
                className="button button-small",
                target="_self",
            ),
            html.A(
                "JSON",
                href=f"/api/v1/jobs?{query}&limit={MAX_LIMIT}",
                className="button button-small",
                target="_blank",
                title=f"All of them; of more than {MAX_LIMIT:,}, `next` is the cursor of the following ones",
            ),
        ],
    )


def _chooser(request: Request) -> Component:
    return dmc.MultiSelect(
        id=control_id("cols", ",".join(_default_columns())),
        data=[{"value": column.field, "label": column.head} for column in COLUMNS if column.field != "job"],
        value=shown_columns(request.address.get("cols")),
        className="chooser",
        placeholder="Columns",
        size="sm",
        hidePickedOptions=False,
        maxDropdownHeight=360,
        **attributes(aria_label="Columns"),
    )


def _default_columns() -> list[str]:
    return [column.field for column in COLUMNS if column.field not in ("job", *LATER)]


def shown_columns(asked: str | None) -> list[str]:
    """Returns the fields to show, from the address or the default; unknown names are left out."""
    if not asked:
        return _default_columns()
    known = {column.field for column in COLUMNS if column.field != "job"}
    return [field for field in asked.split(",") if field in known] or _default_columns()


def sort_of(request: Request) -> tuple[str, bool]:
    """Returns the column and whether it descends, from the address."""
    known = {column.sort for column in COLUMNS if column.sort}
    asked = request.address.get("sort") or DEFAULT_SORT
    return (asked if asked in known else DEFAULT_SORT), request.address.get("order") != "asc"


def _ag_grid(request: Request, total: JobTotals) -> Component:
    shown = {"job", *shown_columns(request.address.get("cols"))}
    sort, descending = sort_of(request)
    return html.Div(
        dag.AgGrid(
            id={"grid": GRID, "view": view_key(request)},
            rowModelType="infinite",
            columnDefs=[
                _column(column, sort, descending=descending, hide=column.field not in shown) for column in COLUMNS
            ],
            defaultColDef={"resizable": True, "sortingOrder": ["desc", "asc"], "suppressHeaderMenuButton": True},
            dashGridOptions={
                "theme": GRID_THEME,
                "cacheBlockSize": PAGE_ROWS,
                "maxBlocksInCache": 20,
                "infiniteInitialRowCount": min(total.count, PAGE_ROWS),
                "pinnedTopRowData": [_total_row(total, request)],
                "suppressCellFocus": False,
                "enableCellTextSelection": True,
                "ensureDomOrder": True,
                "tooltipShowDelay": 400,
                "animateRows": False,
            },
            style={"height": f"{min(total.count, 14) * 44 + 40 + 44 + 18}px"},
            className="grid",
        ),
        className="grid-holder",
    )


def view_key(request: Request) -> str:
    """Returns what the rows depend on: another view is another grid, which then asks for its own rows."""
    kept = {name: value for name, value in request.address.params.items() if name not in ("sort", "order", "cols")}
    return urlencode(sorted(kept.items()))


def _column(column: GridColumn, sort: str, *, descending: bool, hide: bool) -> dict[str, Any]:
    definition: dict[str, Any] = {
        "field": column.field,
        "headerName": column.head,
        "width": column.width,
        "sortable": column.sort is not None,
        "hide": hide,
        "tooltipField": f"{column.field}_tip",
        "headerTooltip": column.meaning or None,
        "type": "rightAligned" if column.number else None,
        "cellRenderer": RENDERERS.get(column.field),
        "pinned": "left" if column.field == "job" else None,
        "flex": 1 if column.field == "name" else None,
        "minWidth": column.width if column.field in ("name", "strip") else None,
    }
    if column.sort == sort:
        definition["initialSort"] = "desc" if descending else "asc"
    return {key: value for key, value in definition.items() if value is not None}


def rows(found: Sequence[JobRow], zone: str) -> list[dict[str, Any]]:
    """Returns runs as the grid shows them: formatted texts, reasons for dashes and full names as tips."""
    return [_row(row, zone) for row in found]


def _row(row: JobRow, zone: str) -> dict[str, Any]:
    total = sum(part.ms for part in row.strip)
    return {
        "job": {"text": row.job_id, "href": job_path(row.job_id, row.cluster)},
        "name": row.name or UNKNOWN,
        "name_tip": row.name or "no name",
        "user": row.user or UNKNOWN,
        "user_tip": row.user or "not known yet: accounting has not told",
        "account": row.account or UNKNOWN,
        "account_tip": row.account or "not known yet: accounting has not told",
        "partition": row.partition or UNKNOWN,
        "partition_tip": row.partition or "not known yet: accounting has not told",
        "state": run_state(row.state),
        "gpus": f"{row.gpus} × {short_model(row.model)}",
        "gpus_tip": row.model or "model not known",
        "start": format_time(row.start_ms, zone),
        "start_tip": format_iso(row.start_ms),
        "elapsed": format_duration(row.elapsed_ms),
        "gpu_h": number_gpu_h(row.gpu_h),
        "idle_gpu_h": number_gpu_h(row.idle_gpu_h),
        "util": format_pct(row.util_mean_pct),
        "sm": format_pct(row.sm_mean_pct),
        "sm_tip": None if row.sm_mean_pct is not None else "this GPU does not offer SM activity",
        "memory": format_ratio(row.mem_max_ratio),
        "power": format_ratio(row.power_mean_ratio),
        "unknown_gpu_h": number_gpu_h(row.unknown_gpu_h),
        "coverage": format_ratio(row.coverage),
        "strip": {
            "parts": [[part.ms, list(part.mix.items())] for part in row.strip],
            "said": strip_words(row.strip, total),
        },
        "findings": [
            {"title": mark.title, "href": f"{job_path(row.job_id, row.cluster)}#finding-{mark.id}"}
            for mark in row.findings
        ],
    }


def _total_row(total: JobTotals, request: Request) -> dict[str, Any]:
    return {
        "job": {"text": "Total"},
        "name": plural(total.count, request.words.run, request.words.runs),
        "gpu_h": number_gpu_h(total.gpu_h),
        "idle_gpu_h": number_gpu_h(total.idle_gpu_h),
        "unknown_gpu_h": number_gpu_h(total.unknown_gpu_h),
    }
