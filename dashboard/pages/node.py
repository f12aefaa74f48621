"""Node: each GPU's last 24 hours, with who held it beneath, and what the node is made of."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.model import Window
from analytics.queries import node as queries
from analytics.queries.node import GpuDay, Holder, NodeDetail
from analytics.queries.nodes import NodeRow
from analytics.queries.notes import notes
from analytics.wording import format_duration, format_gpu_h, format_mib, format_pct, format_power, format_ratio
from dashboard.components import cards, tables
from dashboard.components.marks import Child, moment, name, state_label, value
from dashboard.components.node_day import day_lanes, gpu_name, holder_list, legend
from dashboard.components.notes import note_list
from dashboard.filters import segment
from dashboard.page import Page
from dashboard.request import Request

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
        region("order", "Order of devices", lambda: _order(found())),
        region("facts", "About this node", lambda: _facts(request, found())),
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
        [f"{node.gpus} × ", name(node.model, "model not known"), f"; {driver}; {reports}", *_slurm(node), "."],
        className="sentence",
        id="sentence",
    )


def _slurm(node: NodeRow) -> list[Child]:
    said = node.slurm_now
    if said is None:
        return []
    state: list[Child] = [f"; Slurm calls it {said.state}"]
    return [*state, ": ", name(said.reason)] if said.reason else state


def _lanes(request: Request, detail: NodeDetail | None) -> Component | None:
    if detail is None or not detail.gpus:
        return None
    dated = notes(request.cur, Window(start_ms=detail.start_ms, end_ms=detail.end_ms))
    return cards.card(
        "Last 24 hours",
        [legend(detail), day_lanes(detail, request.zone), note_list(dated, request.zone)],
        id="lanes",
        aside=html.Span("per minute", className="resolution"),
    )


def _gpus(detail: NodeDetail | None) -> Component | None:
    if detail is None:
        return None
    columns = [
        tables.Column(title="GPU"),
        tables.Column(title="Now"),
        tables.Column(title="Held by now"),
        tables.Column(title="Before, newest first"),
        tables.Column(title="Utilization", number=True),
        tables.Column(title="Memory", number=True, phone=False),
        tables.Column(title="Power", number=True, phone=False),
        tables.Column(title="Temperature", number=True, phone=False),
    ]
    rows = [
        (
            gpu_name(day),
            state_label(day.gpu.state),
            holder_list(_now(day), detail.node.cluster, MOST_HOLDERS),
            holder_list(_before(day), detail.node.cluster, MOST_HOLDERS),
            value(format_pct(day.gpu.util_pct)),
            value(format_mib(day.gpu.mem_used_mib)),
            value(format_power(day.gpu.power_w)),
            value("—" if day.gpu.temp_c is None else f"{day.gpu.temp_c:.0f} °C"),
        )
        for day in detail.gpus
    ]
    return cards.card("GPUs", tables.table(columns, rows, caption="The GPUs of this node"), id="gpus")


def _now(day: GpuDay) -> list[Holder]:
    return [holder for holder in day.holders if holder.end_ms is None]


def _before(day: GpuDay) -> list[Holder]:
    now = _now(day)
    return [one for one in reversed(day.holders) if one not in now]


def _order(detail: NodeDetail | None) -> Component | None:
    """The orders in which a GPU can be counted: where they differ, a wrong GPU is easily named."""
    if detail is None or not detail.gpus:
        return None
    columns = [
        tables.Column(title="GPU"),
        tables.Column(title="Minor", number=True),
        tables.Column(title="Slurm's place", number=True),
        tables.Column(title="PCI bus"),
        tables.Column(title="UUID"),
    ]
    rows = [
        (
            gpu_name(day),
            value("—" if day.minor is None else str(day.minor), "the driver does not tell"),
            value("—" if day.position is None else str(day.position), "Slurm's list was not read here"),
            name(day.pci_bus_id),
            name(day.gpu.uuid, wide=True),
        )
        for day in detail.gpus
    ]
    return cards.card("Order of devices", tables.table(columns, rows, caption="Order of devices"), id="order")


def _facts(request: Request, detail: NodeDetail | None) -> Component | None:
    if detail is None:
        return None
    node = detail.node
    memory = {day.gpu.mem_total_mib for day in detail.gpus if day.gpu.mem_total_mib}
    limits = {day.gpu.power_limit_w for day in detail.gpus if day.gpu.power_limit_w}
    drivers = [
        html.Li([change.version, " since ", moment(change.from_ms, request.zone)]) for change in detail.drivers[:5]
    ]
    instances = sum(day.parent_uuid is not None for day in detail.gpus)
    facts: list[tuple[Any, Any]] = [
        ("Cluster", name(node.cluster)),
        ("GPU model", name(node.model, "not known")),
        ("GPU memory", value(", ".join(map(format_mib, sorted(memory))) or "—", "not told")),
        ("Power limit", value(", ".join(map(format_power, sorted(limits))) or "—", "not told")),
        ("Driver", html.Ul(drivers, className="plain-list") if drivers else name(node.driver_version)),
        ("Collector", name(node.agent_version)),
        ("Here since", moment(node.first_ms, request.zone)),
        ("Newest row", moment(node.last_ms, request.zone)),
        ("Clock skew", value(format_duration(node.skew_ms), "not measured")),
        ("Allocated, 24 h", format_gpu_h(node.held_gpu_h_day)),
        ("Idle, 24 h", format_gpu_h(node.idle_gpu_h_day)),
        ("Coverage, 24 h", value(format_ratio(node.coverage_day), "nothing was allocated")),
    ]
    if instances:
        facts.insert(2, ("MIG instances", str(instances)))
    return cards.card("About this node", tables.definition(facts), id="facts")


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
