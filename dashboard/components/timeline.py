"""GPU-hours by state over time, with legend, dated notes, words and table: of the cluster and of a person."""

from dash.development.base_component import Component

from analytics.model import Window
from analytics.queries.notes import notes
from analytics.queries.timeline import Timeline
from dashboard.chart_notes import with_notes
from dashboard.components import chart
from dashboard.components.legend import state_legend
from dashboard.components.notes import note_list
from dashboard.components.timetable import timeline_summary, timeline_table
from dashboard.figures import state_bars
from dashboard.request import Request


def timeline_chart(
    request: Request,
    found: Timeline,
    id: str,
    window: Window,
    revision: str,
    *,
    height: int = 300,
    neutral: bool = False,
    resolution: str | None = None,
) -> Component:
    """Returns the chart of a period; ``revision`` and ``neutral`` as in :func:`dashboard.figures.state_bars`."""
    dated = notes(request.cur, window)
    figure = state_bars(
        found, request.zone, request.scheme, revision, coarse=request.coarse, height=height, neutral=neutral
    )
    return chart.graph(
        id,
        with_notes(figure, dated, request.zone, request.scheme),
        summary=timeline_summary(found),
        table=timeline_table(found, request.zone),
        resolution=resolution,
        legend=state_legend(found, neutral=neutral),
        notes=note_list(dated, request.zone),
    )
