"""The legend of state charts: swatch, word and total, so that it is also the shortest table."""

from dash import html
from dash.development.base_component import Component

from analytics.queries.timeline import FIELDS, Timeline
from analytics.wording import format_gpu_h
from dashboard.components.marks import state_label


def state_totals(timeline: Timeline) -> dict[str, float]:
    """Returns GPU-hours by state over all buckets, only of states that occur."""
    totals = {state: sum(getattr(row, field) or 0.0 for row in timeline.rows) for state, field in FIELDS.items()}
    return {state: total for state, total in totals.items() if total > 0}


def state_legend(timeline: Timeline, *, neutral: bool = False) -> Component:
    """Returns the states of a timeline with their totals; ``neutral`` as in :func:`dashboard.figures.fill`."""
    return html.Ul(
        [
            html.Li([state_label(state), html.Span(format_gpu_h(total), className="legend-value")])
            for state, total in state_totals(timeline).items()
        ],
        className="legend legend-neutral" if neutral else "legend",
    )
