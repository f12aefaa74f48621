"""Answers the grid of runs, block by block: sorting and filtering happen in SQL."""

from typing import Any, Final

from dash import ALL, MATCH, ClientsideFunction, Dash, Input, Output, State, no_update

from analytics.queries import jobs
from dashboard.callbacks import LOCATION, BadCall
from dashboard.components import job_grid
from dashboard.frame import opened
from dashboard.page import Page
from dashboard.pages.jobs import PAGE

MOST_ROWS: Final = 10_000_000
"""Nobody scrolls further; a larger number would be none for the store."""


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
    start, limit = _rows(asked)
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


def _rows(asked: dict[str, Any]) -> tuple[int, int]:
    try:
        start = min(MOST_ROWS, max(0, int(asked.get("startRow") or 0)))
        return start, max(1, min(200, int(asked.get("endRow") or start + job_grid.PAGE_ROWS) - start))
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise BadCall("startRow and endRow are numbers") from error


def _sort(model: list[dict[str, Any]]) -> tuple[str, bool] | None:
    if not isinstance(model, list) or not all(isinstance(entry, dict) for entry in model):
        raise BadCall("sortModel is a list of columns")
    by_field = {column.field: column.sort for column in job_grid.COLUMNS}
    for entry in model:
        sort = by_field.get(str(entry.get("colId")))
        if sort:
            return sort, entry.get("sort") != "asc"
    return None
