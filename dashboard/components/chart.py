"""The one wrapper of every Plotly chart: nothing leaves the site, and everybody can read what it shows."""

from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard import live
from dashboard.components.attributes import attributes
from dashboard.components.marks import Child, icon

# plotly.js 4 offers "Share chart", which uploads the figure to a server on the Internet, unless told not to. It is off
# three times: the button is not in the list of buttons, it is not offered, and there is no address to send to.
CONFIG: Final[dict[str, Any]] = {
    "showSendToCloud": False,
    "showEditInChartStudio": False,
    "plotlyServerURL": "",
    "showLink": False,
    "sendData": False,
    "displaylogo": False,
    "displayModeBar": "hover",
    "modeBarButtons": [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
    "toImageButtonOptions": {"format": "svg", "filename": "gpu-ledger"},
    "responsive": True,
    "doubleClick": "reset",
    "showTips": False,
}


def graph(
    id: str,
    figure: dict[str, Any],
    *,
    summary: str,
    table: Component | None = None,
    resolution: str | None = None,
    legend: Child = None,
    notes: Child = None,
) -> Component:
    """Returns a chart of fixed height with its legend, its summary in words and, folded, its table.

    ``resolution`` is named in the corner, such as ``per hour``; ``notes`` are the dated notes of its markers as text.
    """
    height = f"{figure['layout']['height']}px"
    head = [legend, html.Span(resolution, className="resolution") if resolution else None]
    words = [
        html.P(summary, id=f"{id}-summary", className="chart-summary"),
        notes,
        folded_table(table) if table is not None else None,
    ]
    return html.Figure(
        [
            live.slot(f"{id}-head", html.Div(head, className="chart-head")),
            html.Div(
                live.chart(id, figure, config=CONFIG, responsive=True, style={"height": height}),
                className="chart-canvas",
                style={"minHeight": height},
                role="group",
                **attributes(aria_label="Chart", aria_describedby=f"{id}-summary"),
            ),
            live.slot(f"{id}-words", html.Div(words)),
        ],
        id=id,
        className="chart",
    )


def folded_table(table: Component) -> html.Details:
    """Returns the table behind a chart, folded."""
    return html.Details(
        [html.Summary([icon("table"), "Show as table"], className="fold"), table], className="chart-table"
    )
