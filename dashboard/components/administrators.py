"""What administrators should look at on nodes: a table that no user sees."""

from collections.abc import Sequence
from typing import Final

from dash import html
from dash.development.base_component import Component

from analytics.queries.node_findings import NodeFinding
from analytics.wording import UNKNOWN, format_count, number_gpu_h
from dashboard.components import cards, tables
from dashboard.components.links import node_link
from dashboard.components.marks import Child, moment, name

MOST: Final = 50

_COLUMNS: Final = (
    tables.Column(title="What"),
    tables.Column(title="Where"),
    tables.Column(title="Last"),
    tables.Column(title="GPU-h", number=True),
    tables.Column(title="Seen"),
    tables.Column(title="What to do", phone=False),
)


def administrators(found: Sequence[NodeFinding], zone: str) -> Component | None:
    """Returns the card, or None where there is nothing to look at."""
    if not found:
        return None
    rows = [
        (
            one.title,
            _place(one),
            moment(one.end_ms, zone),
            UNKNOWN if one.gpu_h is None else number_gpu_h(one.gpu_h),
            name(one.sentence, wide=True),
            one.fix,
        )
        for one in found[:MOST]
    ]
    beyond = len(found) - len(rows)
    more = f"{format_count(beyond)} more at /api/v1/node-findings."
    return cards.card(
        "For administrators",
        [
            html.P("On nodes, in the chosen period; no user is charged with any of it.", className="muted"),
            tables.table(_COLUMNS, rows, caption="Findings on nodes"),
            html.P(more, className="total-line") if beyond else None,
        ],
        id="administrators",
    )


def _place(one: NodeFinding) -> Child:
    if one.node is None:
        return name(f"partition {one.partition or UNKNOWN}")
    return html.Span([node_link(one.node), "" if one.gpu is None else f", GPU {one.gpu}"])
