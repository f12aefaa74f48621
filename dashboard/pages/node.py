"""Node: each GPU's last 24 hours, with who held it beneath."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.queries import nodes as queries
from analytics.queries.lanes import Lane
from analytics.queries.nodes import GpuDay, Holder, NodeDetail
from analytics.wording import DAY_MS, format_duration, format_mib, format_pct, format_power, plural
from dashboard.components import cards, chart, tables
from dashboard.components.links import run_link
from dashboard.components.marks import moment, name, state_label, value
from dashboard.figures import lanes_figure
from dashboard.filters import segment
from dashboard.page import Page
from dashboard.request import Request

STATES_SHOWN: Final = ("active", "low", "idle_held", "idle", "unallocated", "stray", "unknown")
MOST_HOLDERS: Final = 6


def asked(request: Request) -> str:
    """Returns the name in the path, decoded."""
    return segment(request.address.path, "/nodes/")


def title(request: Request) -> Any:
    """Returns the node's name."""
    return html.Bdi(asked(request), className="name name-wide")


def body(request: Request) -> Sequence[Any]:
    """Returns the node's day, or a word where there is no such node."""
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    found = cards.once(lambda: queries.node(request.cur, request.viewer, asked(request), request.now_ms))
    return [
        region("sentence", "The node", lambda: _sentence(found())),
        region("lanes", "The last 24 hours", lambda: _lanes(request, found())),
        region("gpus", "The GPUs", lambda: _gpus(found())),
        region("events", "Events", lambda: _events(request, found())),
    ]


def _sentence(detail: NodeDetail | None) -> Component:
    if detail is None:
        return cards.empty("No node of this name has reported.", next_step=html.A("All nodes", href="/nodes"))
    node = detail.node
    reports = (
        f"silent for {format_duration(node.age_ms)}"
        if node.silent
        else f"reports every {format_duration(node.interval_ms)}"
    )
    driver = f"driver {node.driver_version}" if node.driver_version else "driver not known"
    return html.P(
        [f"{node.gpus} × ", name(node.model, "model not known"), f"; {driver}; {reports}."],
        className="sentence",
        id="sentence",
    )


def _lanes(request: Request, detail: NodeDetail | None) -> Component | None:
    if detail is None or not detail.gpus:
        return None
    lanes = [_lane(day, detail.node.name) for day in detail.gpus]
    end = detail.node.last_ms
    figure = lanes_figure(
        lanes,
        (end - DAY_MS, end),
        detail.events,
        request.zone,
        request.scheme,
        f"node-{detail.node.name}",
        coarse=request.coarse,
    )
    present = [state for state in STATES_SHOWN if any(s.state == state for lane in lanes for s in lane.stretches)]
    return cards.card(
        "Last 24 hours",
        chart.graph(
            "node-lanes",
            figure,
            summary=f"States of {plural(len(lanes), 'GPU')} over 24 hours; the table below has who held each GPU.",
            legend=html.Ul([html.Li(state_label(state)) for state in present], className="legend"),
        ),
        id="lanes",
    )


def _lane(day: GpuDay, node: str) -> Lane:
    index = day.gpu.index if day.gpu.index is not None else day.gpu.uuid[:12]
    return Lane(gpu_key=day.gpu.gpu_key, gpu=f"GPU {index}", node=node, stretches=day.stretches)


def _gpus(detail: NodeDetail | None) -> Component | None:
    if detail is None:
        return None
    columns = [
        tables.Column(title="GPU"),
        tables.Column(title="Now"),
        tables.Column(title="Held by now"),
        tables.Column(title="Before, newest first"),
        tables.Column(title="Utilization", number=True),
        tables.Column(title="Memory", number=True),
        tables.Column(title="Power", number=True, phone=False),
        tables.Column(title="PCI bus", phone=False),
        tables.Column(title="UUID", phone=False),
    ]
    rows = [
        (
            f"GPU {day.gpu.index}" if day.gpu.index is not None else "—",
            state_label(day.gpu.state),
            _holders(_now(day), detail.node.cluster, "nobody"),
            _holders([one for one in reversed(day.holders) if one not in _now(day)], detail.node.cluster, "nobody"),
            value(format_pct(day.gpu.util_pct)),
            value(format_mib(day.gpu.mem_used_mib)),
            value(format_power(day.gpu.power_w)),
            name(day.pci_bus_id),
            name(day.gpu.uuid),
        )
        for day in detail.gpus
    ]
    return cards.card("GPUs", tables.table(columns, rows, caption="The GPUs of this node"), id="gpus")


def _now(day: GpuDay) -> list[Holder]:
    return [holder for holder in day.holders if holder.end_ms is None]


def _holders(holders: Sequence[Holder], cluster: str, nobody: str) -> Component:
    if not holders:
        return html.Span(nobody, className="muted")
    shown = [
        html.Li([run_link(holder.job_id, cluster), " ", name(holder.user, "user not known yet")])
        for holder in holders[:MOST_HOLDERS]
    ]
    if len(holders) > MOST_HOLDERS:
        shown.append(html.Li(f"and {len(holders) - MOST_HOLDERS} more", className="muted"))
    return html.Ul(shown, className="plain-list")


def _events(request: Request, detail: NodeDetail | None) -> Component | None:
    if detail is None or not detail.events:
        return None
    columns = [tables.Column(title="When"), tables.Column(title="GPU"), tables.Column(title="What")]
    rows = [
        (
            moment(event.ts_ms, request.zone),
            name(event.gpu, "the whole node"),
            html.Span([event.kind.replace("_", " "), html.Span(event.detail, className="sub")]),
        )
        for event in detail.events
    ]
    return cards.card("Events", tables.table(columns, rows, caption="Newest events of this node"), id="events")


PAGE: Final = Page(
    module="node",
    path="/nodes/<name>",
    name="Node",
    question="What did each GPU of this node do in the last 24 hours?",
    body=body,
    title=title,
    order=71,
    live=True,
    default_range="24h",
)
