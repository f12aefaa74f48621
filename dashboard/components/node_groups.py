"""Nodes now: one by one as a grid, or by group as bars by state where there are too many to draw."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dash import html
from dash.development.base_component import Component

from analytics.queries.node_groups import NodeGroup
from analytics.queries.nodes import NodeRow
from analytics.wording import STATES, format_duration, plural
from dashboard.components.attributes import attributes
from dashboard.components.gpu_cells import gpu_cells
from dashboard.components.links import node_link
from dashboard.components.marks import badge, name
from dashboard.filters import Address

ORDER: Final = tuple(STATES)
Word = Callable[[str], str]


def grid(nodes: Sequence[NodeRow]) -> Component:
    """Returns each node with its GPUs, silent ones first, because they are the ones to look at; the rest by name."""
    shown = sorted(nodes, key=lambda node: (not node.silent, node.name))
    return html.Ul([html.Li(_node(node)) for node in shown], className="node-grid")


def _node(node: NodeRow) -> Component:
    silent = badge(f"silent {format_duration(node.age_ms)}", "amber") if node.silent else None
    return html.Div(
        [html.Div([node_link(node.name), silent], className="node-head"), gpu_cells(node)], className="node-box"
    )


def group_bars(groups: Sequence[NodeGroup], address: Address, word: Word) -> Component:
    """Returns a bar by state for each group, as long as it has GPUs; the whole bar is the link that opens it."""
    largest = max((group.gpus for group in groups), default=0) or 1
    return html.Ul([html.Li(_bar(group, largest, address, word)) for group in groups], className="group-bars")


def _bar(group: NodeGroup, largest: int, address: Address, word: Word) -> Component:
    said = states_said(group.states, word)
    parts = [
        html.I(className=f"state-{state}", style={"flexGrow": group.states[state]})
        for state in ORDER
        if group.states.get(state)
    ]
    return html.A(
        [
            html.Div(
                [
                    html.Span(name(group.name, wide=True), className="bar-name"),
                    badge(plural(group.silent, "node") + " silent", "amber") if group.silent else None,
                    html.Span(
                        f"{plural(len(group.nodes), 'node')}, {plural(group.gpus, 'GPU')}", className="muted push"
                    ),
                ],
                className="group-head",
            ),
            html.Div(
                html.Div(parts, className="group-bar", style={"width": f"{100 * group.gpus / largest:.1f}%"}),
                **attributes(aria_hidden="true"),
            ),
            html.Div(said, className="sub"),
        ],
        href=address.change(group=group.key).href,
        className="group",
        **attributes(data_group=group.key),
    )


def states_said(states: Mapping[str, int], word: Word) -> str:
    """Returns ``132 active; 11 low``, in the order of the states."""
    return "; ".join(f"{states[state]:,} {word(state)}" for state in ORDER if states.get(state))
