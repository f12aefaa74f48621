"""Nodes on which Slurm starts nothing, and nodes with GPUs from which nothing reports: its word beside ours."""

from collections.abc import Sequence
from typing import Final

from dash import html
from dash.development.base_component import Component

from analytics.queries.nodes import NodeRow
from analytics.queries.site import told_at
from analytics.queries.slurm_nodes import slurm_nodes
from analytics.wording import format_count, format_duration
from dashboard.components import cards, tables
from dashboard.components.links import node_link
from dashboard.components.marks import moment, name
from dashboard.request import Request

MOST_NODES: Final = 50


def slurm_card(request: Request, nodes: Sequence[NodeRow]) -> Component | None:
    """Returns a table of the nodes that are down, drained, reserved or unreported; None where all is well."""
    here = {(node.cluster, node.name): node for node in nodes}
    listed = [
        (said, here.get((said.cluster, said.name)))
        for said in slurm_nodes(request.cur, told_at(request.cur, request.now_ms))
        if said.standing != "up" or (said.gpus and (said.cluster, said.name) not in here)
    ]
    if not listed:
        return None
    columns = [
        tables.Column(title="Node"),
        tables.Column(title="GPUs", number=True),
        tables.Column(title="Slurm says"),
        tables.Column(title="Reason"),
        tables.Column(title="Since"),
        tables.Column(title="Here"),
    ]
    rows = [
        (
            node_link(said.name) if node else name(said.name),
            format_count(said.gpus),
            said.state,
            name(said.reason, "Slurm gives none"),
            moment(said.since_ms, request.zone, "Slurm does not tell"),
            _here(node),
        )
        for said, node in listed[:MOST_NODES]
    ]
    more = f"{MOST_NODES} of {format_count(len(listed))} are listed." if len(listed) > MOST_NODES else None
    table = tables.table(columns, rows, caption="Nodes on which nothing starts or from which nothing reports")
    return cards.card("What Slurm says", table, id="slurm-nodes", note=more)


def _here(node: NodeRow | None) -> str | Component:
    if node is None:
        return html.Span(["no agent reports: start ", html.Code("gpuledger collect"), " there"])
    if node.silent:
        return f"silent for {format_duration(node.age_ms)}"
    return "reports"
