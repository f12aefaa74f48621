"""Nodes: which GPUs are idle or silent now, and how many hours did each node give?"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.queries import hours
from analytics.queries import nodes as queries
from analytics.queries.nodes import NodeRow
from analytics.wording import format_count, format_duration, format_energy, label, number_gpu_h, plural
from dashboard.components import cards, tables
from dashboard.components.attributes import attributes
from dashboard.components.controls import time_range
from dashboard.components.gpu_cells import gpu_cells
from dashboard.components.links import node_link
from dashboard.components.marks import badge, coverage_badge, name, state_label, value
from dashboard.page import Page
from dashboard.request import Request

MOST_NODES: Final = 64
ORDER: Final = ("active", "low", "idle_held", "idle", "unallocated", "stray", "unknown")


def body(request: Request) -> Sequence[Any]:
    """Returns the state of every GPU now, and GPU-hours by node with the total."""
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    now = cards.once(lambda: queries.nodes(request.cur, request.viewer, request.now_ms))
    return [
        region("sentence", "The summary", lambda: _sentence(request, now())),
        region("now", "The GPUs now", lambda: _now(request, now())),
        region("table", "GPU-hours by node", lambda: _hours(request)),
    ]


def _sentence(request: Request, nodes: list[NodeRow]) -> Component:
    states = Counter(gpu.state for node in nodes for gpu in node.gpu_now)
    said = "; ".join(f"{format_count(states[state])} {_word(request, state)}" for state in ORDER if states[state])
    silent = sum(node.silent for node in nodes)
    missing = f"; {plural(silent, 'node')} silent" if silent else ""
    total = sum(states.values())
    text = (
        f"{plural(total, 'GPU')} on {plural(len(nodes), 'node')}: {said}{missing}."
        if total
        else "No node has reported yet."
    )
    return html.P(text, className="sentence", id="sentence")


def _word(request: Request, state: str) -> str:
    return request.words.unallocated if state == "unallocated" else label(state)


def _now(request: Request, nodes: list[NodeRow]) -> Component:
    if not nodes:
        return cards.card("Now", cards.empty("No node has reported yet."), id="now")
    present = {gpu.state for node in nodes for gpu in node.gpu_now}
    legend = html.Ul(
        [html.Li(state_label(state, _word(request, state))) for state in ORDER if state in present], className="legend"
    )
    # Silent and faulty ones first, because they are the ones to look at; the rest by name.
    shown = sorted(nodes, key=lambda node: (not node.silent, node.name))[:MOST_NODES]
    left_out = (
        f"{MOST_NODES} of {plural(len(nodes), 'node')} are drawn; the table below has all."
        if len(nodes) > MOST_NODES
        else None
    )
    return cards.card(
        "Now",
        [legend, html.Ul([html.Li(_node(node)) for node in shown], className="node-grid")],
        id="now",
        note=left_out,
    )


def _node(node: NodeRow) -> Component:
    silent = badge(f"silent {format_duration(node.age_ms)}", "amber") if node.silent else None
    return html.Div(
        [html.Div([node_link(node.name), silent], className="node-head"), gpu_cells(node)], className="node-box"
    )


def _hours(request: Request) -> Component:
    total = hours.hours(request.cur, request.viewer, request.window, request.filter)
    rows = hours.breakdown(request.cur, request.viewer, request.window, request.filter, "node")
    columns = [
        tables.Column(title="Node"),
        tables.Column(title="Allocated GPU-h", number=True),
        tables.Column(title="Active", number=True),
        tables.Column(title="Low", number=True, phone=False),
        tables.Column(title="Idle", number=True),
        tables.Column(title="Not measured", number=True, phone=False),
        tables.Column(title="Energy", number=True),
    ]
    body_rows = [
        (
            html.Span(
                [node_link(row.key) if row.key else name(None, "not placed on a node"), coverage_badge(row.coverage)]
            ),
            number_gpu_h(row.held_gpu_h),
            number_gpu_h(row.active_gpu_h),
            number_gpu_h(row.low_gpu_h),
            number_gpu_h(row.idle_gpu_h),
            number_gpu_h(row.unknown_gpu_h),
            value(format_energy(row.energy_kwh, estimated=row.energy_estimated)),
        )
        for row in sorted(rows, key=lambda row: row.key or "~")
    ]
    foot = (
        "Total",
        _exact("held_gpu_h", total.held_gpu_h),
        _exact("active_gpu_h", total.active_gpu_h),
        _exact("low_gpu_h", total.low_gpu_h),
        _exact("idle_gpu_h", total.idle_gpu_h),
        _exact("unknown_gpu_h", total.unknown_gpu_h),
        html.Span(
            format_energy(total.energy_kwh, estimated=total.energy_estimated),
            **attributes(
                data_figure="energy_kwh", data_value="" if total.energy_kwh is None else repr(total.energy_kwh)
            ),
        ),
    )
    capacity = [
        "Capacity ",
        _exact("capacity_gpu_h", total.capacity_gpu_h),
        f" GPU-h, {request.words.unallocated} ",
        _exact("unallocated_gpu_h", total.unallocated_gpu_h),
        " GPU-h.",
    ]
    return cards.card(
        "GPU-hours by node",
        [
            tables.table(columns, body_rows, caption="GPU-hours by node", total=foot),
            html.P(capacity, className="total-line"),
        ],
        id="hours-by-node",
    )


def _exact(figure: str, gpu_h: float | None) -> Component:
    return html.Span(
        number_gpu_h(gpu_h), **attributes(data_figure=figure, data_value="" if gpu_h is None else repr(gpu_h))
    )


PAGE: Final = Page(
    module="nodes",
    path="/nodes",
    name="Nodes",
    question="Which GPUs are idle or silent now, and how was the day?",
    body=body,
    controls=lambda request: [time_range(request)],
    icon="nodes",
    group="Trust",
    order=70,
    live=True,
    default_range="24h",
)
