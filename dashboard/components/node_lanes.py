"""The day of nodes, or of groups of nodes, as lanes with their words and table."""

from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from analytics.model import State
from analytics.queries.node_days import STATES, NodeDays, NodeLane, node_days
from analytics.queries.notes import notes
from analytics.wording import format_duration, format_pct, label
from dashboard.chart_notes import with_notes
from dashboard.components import cards, chart, tables
from dashboard.components.marks import state_label
from dashboard.components.notes import note_list
from dashboard.node_lanes import node_lanes_figure
from dashboard.request import Request


def lanes_card(request: Request, groups: Mapping[str, Sequence[str]], gpus: Mapping[str, int]) -> Component:
    """Returns the card of the period's lanes, one for each of ``groups`` (name -> its nodes)."""
    days = node_days(request.cur, request.window, groups, gpus)
    totals = {lane.name: [sum(column) for column in zip(*lane.parts, strict=True)] for lane in days.lanes}
    present = [state for place, state in enumerate(STATES) if any(total[place] for total in totals.values())]
    figure = node_lanes_figure(days, request.zone, request.scheme, request.address.href, coarse=request.coarse)
    dated = notes(request.cur, request.window)
    return cards.card(
        "The period, lane by lane" if request.view.span != request.default_range else "The last 24 hours",
        chart.graph(
            "nodes-lanes",
            with_notes(figure, dated, request.zone, request.scheme),
            notes=note_list(dated, request.zone),
            summary=_summary(days, totals),
            table=_table(totals),
            legend=html.Ul([html.Li(state_label(state)) for state in present], className="legend"),
        ),
        id="lanes",
        aside=html.Span(f"per {format_duration(days.step_ms)}", className="resolution"),
    )


def _share(total: list[int], *states: str) -> float:
    whole = sum(total)
    return 100 * sum(total[STATES.index(State(state))] for state in states) / whole if whole else 0.0


def _summary(days: NodeDays, totals: Mapping[str, list[int]]) -> str:
    said = "Each lane is filled by the shares of its GPUs in each state"
    idlest = max(days.lanes, key=lambda lane: _share(totals[lane.name], "idle", "idle_held"), default=None)
    share = _share(totals[idlest.name], "idle", "idle_held") if idlest else 0.0
    return f"{said}; most idle: {_name(idlest)}, {format_pct(share)} of its GPU time." if share >= 1 else f"{said}."


def _name(lane: NodeLane | None) -> str:
    return lane.name if lane else ""


def _table(totals: Mapping[str, list[int]]) -> Component:
    columns = [tables.Column(title="Node"), *(tables.Column(title=label(state), number=True) for state in STATES)]
    rows = [(name, *(format_pct(_share(total, state)) for state in STATES)) for name, total in totals.items()]
    return tables.table(columns, rows, caption="Share of GPU time in each state")
