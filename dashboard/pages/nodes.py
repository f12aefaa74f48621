"""Nodes: which GPUs are idle, sick or silent now, and how was the day?"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.queries import hours, trouble
from analytics.queries import nodes as queries
from analytics.queries.node_groups import MOST_NODES, NodeGroup, group_nodes
from analytics.queries.nodes import NodeRow
from analytics.queries.site import told_at
from analytics.queries.trouble import Trouble
from analytics.wording import format_count, label, plural
from dashboard.components import cards, tables
from dashboard.components.controls import time_range
from dashboard.components.links import node_link
from dashboard.components.marks import Child, icon, moment, name, state_label
from dashboard.components.node_groups import ORDER, grid, group_bars, states_said
from dashboard.components.node_hours import Place, hours_card
from dashboard.components.node_lanes import lanes_card
from dashboard.components.slurm_nodes import slurm_card
from dashboard.page import Page
from dashboard.request import Request

MOST_TROUBLES: Final = 50


class Fleet:
    """The nodes of one request: all of them, and where they are too many to draw, their groups and the open one."""

    def __init__(self, nodes: list[NodeRow], asked: str | None) -> None:
        self.nodes = nodes
        self.groups = group_nodes(nodes) if len(nodes) > MOST_NODES else []
        self.open = next((group for group in self.groups if group.key == asked), None)

    @property
    def drawn(self) -> list[NodeRow]:
        """The nodes that are drawn one by one; none where the groups are drawn."""
        return self.open.nodes if self.open else [] if self.groups else self.nodes

    @property
    def lanes(self) -> Mapping[str, Sequence[str]]:
        """What is drawn as one lane: a node, or a group of nodes."""
        if self.drawn:
            return {node.name: [node.name] for node in self.drawn}
        return {group.name: [node.name for node in group.nodes] for group in self.groups}


def body(request: Request) -> Sequence[Any]:
    """Returns what is sick, the state of every GPU now, how the day was, and GPU-hours with the total."""
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    fleet = cards.once(
        lambda: Fleet(queries.nodes(request.cur, request.viewer, request.now_ms), request.address.get("group"))
    )
    sick = cards.once(lambda: trouble.trouble(request.cur, fleet().nodes, told_at(request.cur, request.now_ms)))
    return [
        region("sentence", "The summary", lambda: _sentence(request, fleet().nodes, sick())),
        region("trouble", "What is silent or faulty", lambda: _trouble(request, sick())),
        region("slurm", "What Slurm says", lambda: slurm_card(request, fleet().nodes)),
        region("now", "The GPUs now", lambda: _now(request, fleet())),
        region("lanes", "The last 24 hours", lambda: _lanes(request, fleet())),
        region("table", "GPU-hours by node", lambda: _hours(request, fleet())),
    ]


def _sentence(request: Request, nodes: list[NodeRow], sick: list[Trouble]) -> Component:
    states = Counter(gpu.state for node in nodes for gpu in node.gpu_now)
    total = sum(states.values())
    if not total:
        return html.P("No node has reported yet.", className="sentence", id="sentence")
    said = states_said(states, partial(_word, request))
    silent = sum(node.silent for node in nodes)
    faulty = len({one.node for one in sick} - {node.name for node in nodes if node.silent})
    troubles = [f"{plural(count, 'node')} {what}" for count, what in ((silent, "silent"), (faulty, "faulty")) if count]
    sickness = " and ".join(troubles) or "nothing silent or faulty"
    text = f"{plural(total, 'GPU')} on {plural(len(nodes), 'node')}: {said}; {sickness}."
    return html.P(text, className="sentence", id="sentence")


def _word(request: Request, state: str) -> str:
    return request.words.unallocated if state == "unallocated" else label(state)


def _trouble(request: Request, sick: list[Trouble]) -> Component | None:
    if not sick:
        return None
    columns = [
        tables.Column(title="Node"),
        tables.Column(title="GPU"),
        tables.Column(title="What"),
        tables.Column(title="Since"),
    ]
    rows = [
        (
            html.Span([icon("alert"), " ", node_link(one.node)], className="nowrap"),
            "the whole node" if one.gpu is None else f"GPU {one.gpu}",
            one.what,
            moment(one.since_ms, request.zone, "it comes and goes"),
        )
        for one in sick[:MOST_TROUBLES]
    ]
    more = f"{MOST_TROUBLES} of {format_count(len(sick))} are listed." if len(sick) > MOST_TROUBLES else None
    table = tables.table(columns, rows, caption="Silent nodes and faulty GPUs")
    return cards.card("Silent and faulty", table, id="trouble", note=more)


def _now(request: Request, fleet: Fleet) -> Component:
    if not fleet.nodes:
        return cards.card("Now", cards.empty("No node has reported yet."), id="now")
    word = partial(_word, request)
    shown = fleet.drawn or fleet.nodes
    present = {gpu.state for node in shown for gpu in node.gpu_now}
    legend = html.Ul(
        [html.Li(state_label(state, word(state))) for state in ORDER if state in present], className="legend"
    )
    drawn = grid(fleet.drawn) if fleet.drawn else group_bars(fleet.groups, request.address, word)
    return cards.card("Now", [legend, drawn], id="now", note=_note(request, fleet))


def _note(request: Request, fleet: Fleet) -> Child:
    """What is drawn and what is not, counted, with the way there."""
    if not fleet.groups:
        return None
    if fleet.open is None:
        return f"{plural(len(fleet.nodes), 'node')} in {plural(len(fleet.groups), 'group')}; open one for its nodes."
    rest = len(fleet.nodes) - len(fleet.open.nodes)
    others = f"{plural(rest, 'node')} of {plural(len(fleet.groups) - 1, 'other group')}"
    back = html.A("All groups", href=request.address.change(group=None).href, className="strong-link")
    return html.Span([f"{plural(len(fleet.open.nodes), 'node')} of {fleet.open.name}; {others} not drawn. ", back])


def _lanes(request: Request, fleet: Fleet) -> Component | None:
    if not fleet.nodes:
        return None
    return lanes_card(request, fleet.lanes, {node.name: node.gpus for node in fleet.nodes})


def _hours(request: Request, fleet: Fleet) -> Component:
    total = hours.hours(request.cur, request.viewer, request.window, request.filter, count=False)
    rows = hours.breakdown(request.cur, request.viewer, request.window, request.filter, "node", count=False)
    of_node = {node.name: group for group in fleet.groups for node in group.nodes}
    rest = plural(len(fleet.nodes) - len(fleet.drawn), "other node")

    def place(node: str | None) -> Place:
        group = of_node.get(node or "")
        if node is None:
            return "~~", name(None, "not placed on a node")
        if group is None or group is fleet.open:
            return f"1{node}", node_link(node)
        return ("~", rest) if fleet.open else (f"0{group.key}", _group_link(request, group))

    return hours_card(request, total, rows, place, "group" if fleet.groups and not fleet.open else "node")


def _group_link(request: Request, group: NodeGroup) -> Component:
    return html.A(name(group.name), href=request.address.change(group=group.key).href)


PAGE: Final = Page(
    module="nodes",
    path="/nodes",
    name="Nodes",
    question="Which GPUs are idle, sick or silent now, and how was the day?",
    body=body,
    controls=lambda request: [time_range(request)],
    icon="nodes",
    group="Trust",
    order=70,
    live=True,
    default_range="24h",
)
