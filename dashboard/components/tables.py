"""Plain tables: real ones, with a caption, sorted heads and a total row; on a phone each row becomes a card."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attributes
from dashboard.components.marks import Child
from dashboard.filters import Address


@dataclasses.dataclass(frozen=True, kw_only=True)
class Column:
    """How a column looks.

    ``number`` aligns right; ``phone`` keeps it on a phone, where a row shows five; ``sort`` is its name in the address
    where the table can be sorted by it.
    """

    title: Child
    number: bool = False
    phone: bool = True
    sort: str | None = None


Cells = Sequence[Any]


def table(
    columns: Sequence[Column],
    rows: Sequence[Cells],
    *,
    caption: str,
    total: Cells | None = None,
    address: Address | None = None,
    sorted_by: tuple[str, bool] | None = None,
    id: str | None = None,
) -> Component:
    """Returns a table. ``sorted_by`` is (column, descending); heads become links where ``address`` is given."""
    named = {"id": id} if id else {}
    return html.Div(
        html.Table(
            [
                html.Caption(caption, className="visually-hidden"),
                html.Thead(html.Tr([_head(column, address, sorted_by) for column in columns])),
                html.Tbody([html.Tr([_cell(c, v) for c, v in zip(columns, row, strict=True)]) for row in rows]),
                html.Tfoot(html.Tr([_cell(c, v) for c, v in zip(columns, total, strict=True)])) if total else None,
            ],
            className="table",
        ),
        className="table-scroll",
        tabIndex=0,
        role="region",
        **attributes(aria_label=caption),
        **named,
    )


def _classes(column: Column) -> str:
    return " ".join(name for name, on in (("number", column.number), ("not-on-phone", not column.phone)) if on)


def _head(column: Column, address: Address | None, sorted_by: tuple[str, bool] | None) -> Component:
    if column.sort is None or address is None:
        return html.Th(column.title, className=_classes(column), scope="col")
    current = sorted_by is not None and sorted_by[0] == column.sort
    descending = current and sorted_by is not None and sorted_by[1]
    target = address.change(sort=column.sort, order="asc" if descending else None)
    order = {"aria-sort": "descending" if descending else "ascending"} if current else {}
    mark = (" ↓" if descending else " ↑") if current else ""
    return html.Th(
        html.A([column.title, html.Span(mark, **attributes(aria_hidden="true"))], href=target.href, className="sort"),
        className=_classes(column),
        scope="col",
        **order,
    )


def _cell(column: Column, content: Any) -> Component:
    label = column.title if isinstance(column.title, str) else ""
    return html.Td(content, className=_classes(column), **attributes(data_label=label))


def definition(pairs: Sequence[tuple[Child, Any]]) -> html.Dl:
    """Returns facts as a list of terms and values."""
    return html.Dl([html.Div([html.Dt(term), html.Dd(value)]) for term, value in pairs], className="facts")


def bars(rows: Sequence[tuple[Any, float, Any]], *, mark: str) -> html.Ul:
    """Returns (name, size, text) as horizontal bars, longest = the largest size; ``mark`` is the class of the fill."""
    largest = max((size for _, size, _ in rows), default=0.0) or 1.0
    return html.Ul(
        [
            html.Li(
                [
                    html.Div([html.Span(name, className="bar-name"), html.Span(text, className="bar-text")]),
                    html.Div(
                        html.I(className=mark, style={"width": f"{100 * size / largest:.2f}%"}),
                        className="bar-track",
                        **attributes(aria_hidden="true"),
                    ),
                ]
            )
            for name, size, text in rows
        ],
        className="bars",
    )
