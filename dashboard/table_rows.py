"""Answers the grid of runs, block by block: sorting and filtering happen in SQL."""

from typing import Any

from dash import ALL, MATCH, ClientsideFunction, Dash, Input, Output, State, no_update

from analytics.queries import jobs
from dashboard.components import job_grid
from dashboard.frame import opened
from dashboard.page import Page
from dashboard.pages.jobs import PAGE

LOCATION = "_pages_location"


def register(app: Dash) -> None:
    """Adds the callbacks that answer the grid's requests for rows and note its order in the address."""
    app.clientside_callback(
        ClientsideFunction("ledger", "ordered"),
        Output("arrived", "dir"),
        Input({"grid": ALL, "view": ALL}, "getRowsRequest"),
        prevent_initial_call=True,
    )
    grid = {"grid": job_grid.GRID, "view": MATCH}

    @app.callback(
        Output(grid, "getRowsResponse"),
        Input(grid, "getRowsRequest"),
        State(LOCATION, "pathname"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )
    def answer(asked: dict[str, Any] | None, path: str, search: str) -> Any:
        return block(PAGE, asked, path, search) if asked else no_update


def block(page: Page, asked: dict[str, Any], path: str, search: str) -> dict[str, Any]:
    """Returns rows ``startRow`` to ``endRow`` in the order of ``sortModel``, and how many there are."""
    start = max(0, int(asked.get("startRow") or 0))
    limit = max(1, min(200, int(asked.get("endRow") or start + job_grid.PAGE_ROWS) - start))
    with opened(page, path, search) as request:
        sort, descending = _sort(asked.get("sortModel") or []) or job_grid.sort_of(request)
        found = jobs.jobs(
            request.cur,
            request.viewer,
            request.window,
            request.filter,
            sort=sort,  # type: ignore[arg-type] # one of the grid's own columns
            descending=descending,
            limit=limit,
            offset=start,
        )
        return {"rowData": job_grid.rows(found.items, request.zone), "rowCount": found.total.count}


def _sort(model: list[dict[str, Any]]) -> tuple[str, bool] | None:
    by_field = {column.field: column.sort for column in job_grid.COLUMNS}
    for entry in model:
        sort = by_field.get(str(entry.get("colId")))
        if sort:
            return sort, entry.get("sort") != "asc"
    return None
