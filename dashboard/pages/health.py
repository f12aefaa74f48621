"""Health: can I trust these numbers?"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.queries import health as queries
from analytics.queries.health import Health, LogRow, Unmeasurable
from analytics.queries.logs import gathered
from analytics.queries.node_findings import node_findings
from analytics.queries.requests import MOST_PER_MIN
from analytics.wording import (
    UNKNOWN,
    format_bytes,
    format_count,
    format_duration,
    format_gpu_h,
    format_ratio,
    plural,
)
from dashboard.components import cards, tables
from dashboard.components.administrators import administrators
from dashboard.components.figures import Figure, figure_row
from dashboard.components.links import node_link
from dashboard.components.marks import Child, badge, icon, moment, name, value
from dashboard.components.slurm_count import slurm_count
from dashboard.page import Page
from dashboard.request import Request

MOST_NODES: Final = 64
"""So many nodes are listed, the silent and the least measured first."""


def body(request: Request) -> Sequence[Any]:
    """Returns problems first, then figures, nodes, jobs and what cannot be measured here."""
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    found = cards.once(lambda: queries.health(request.cur, request.viewer, request.now_ms))
    asked = partial(node_findings, request.cur, request.viewer, request.window)
    return [
        region("sentence", "The summary", lambda: _sentence(found())),
        region("figures", "The figures", lambda: _figures(found())),
        region("nodes", "Nodes", lambda: _nodes(found(), request.zone)),
        region("administrators", "For administrators", lambda: administrators(asked(), request.zone)),
        region("logs", "What ran", lambda: _logs(request, found())),
        region("slurm-count", "Slurm's own count", lambda: slurm_count(found().accounts)),
        region("unmeasurable", "What cannot be measured", lambda: _unmeasurable(found())),
    ]


def _sentence(found: Health) -> Component:
    if found.ok and found.pending:
        return html.P(
            [icon("waiting"), "Not whole yet: what has come in is still being summed and judged."],
            className="sentence",
            id="sentence",
        )
    if found.ok:
        return html.P(
            [icon("done"), "Yes: everything that should report does, and nothing was refused."],
            className="sentence",
            id="sentence",
        )
    if not found.problems:
        return html.P("Nothing has reported yet.", className="sentence", id="sentence")
    return html.Div(
        [
            html.P(
                [icon("alert"), f"{plural(len(found.problems), 'thing')} to look at:"],
                className="sentence",
                id="sentence",
            ),
            html.Ul([html.Li(problem) for problem in found.problems], className="problems"),
        ]
    )


def _figures(found: Health) -> Component:
    refused = found.segments_refused_24h
    figures = [
        Figure(
            id="nodes_reporting", label="Nodes reporting", value=float(found.nodes_reporting),
            text=f"{found.nodes_reporting} of {found.nodes_expected}",
        ),
        Figure(
            id="coverage_24h", label="Coverage, 24 h", meaning="coverage", value=found.coverage_24h,
            text=format_ratio(found.coverage_24h), why_unknown="nothing was allocated",
        ),
        Figure(
            id="segments_24h", label="Segments, 24 h", value=float(found.segments_24h),
            text=format_count(found.segments_24h),
            note=f"{format_count(refused)} refused, {format_count(found.segments_late_24h)} late",
        ),
        Figure(
            id="accounting_lag_ms", label="Accounting", value=_float(found.accounting_lag_ms),
            text=UNKNOWN if found.accounting_lag_ms is None else f"{format_duration(found.accounting_lag_ms)} ago",
            why_unknown="no accounting has been read",
        ),
        Figure(
            id="slurm_requests_per_min", label="Slurm asked", value=found.slurm_requests_per_min,
            text=_rate(found.slurm_requests_per_min), note=f"times a minute; at most {MOST_PER_MIN:g}",
            why_unknown="no probe asks Slurm",
        ),
        Figure(
            id="waiting", label="To be summed", value=float(found.pending_hours),
            text=format_count(found.pending_hours),
            note=f"hours; {plural(found.pending_runs, 'run')} to judge",
        ),
        Figure(
            id="store_bytes", label="Store", value=_float(found.store_bytes), text=format_bytes(found.store_bytes),
            note=f"{format_count(found.rows)} rows", why_unknown="not known for data at rest",
        ),
        Figure(
            id="days_left", label="Disk lasts", value=_float(_days_left(found)), text=_lasts(found),
            why_unknown="less than a full day has been recorded",
        ),
    ]  # fmt: skip
    rests = html.P(found.disk_sentence, className="total-line") if found.disk_sentence else None
    return html.Div([figure_row(figures), rests])


def _days_left(found: Health) -> int | None:
    return None if found.disk is None else found.disk.days_left


def _lasts(found: Health) -> str:
    if found.disk is None:
        return UNKNOWN
    return "settles" if found.disk.days_left is None else plural(found.disk.days_left, "day")


def _rate(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)


def _nodes(found: Health, zone: str) -> Component:
    columns = [
        tables.Column(title="Node"),
        tables.Column(title="GPUs", number=True),
        tables.Column(title="Model", phone=False),
        tables.Column(title="Driver", phone=False),
        tables.Column(title="Newest row"),
        tables.Column(title="Coverage, 24 h", number=True),
        tables.Column(title="Clock skew", number=True, phone=False),
    ]
    listed = sorted(found.nodes, key=lambda node: (not node.silent, node.coverage_day or 0, node.name))
    rows = [
        (
            html.Span([node_link(node.name), badge("silent", "amber") if node.silent else None]),
            str(node.gpus),
            name(node.model),
            name(node.driver_version),
            moment(node.last_ms, zone),
            value(format_ratio(node.coverage_day), "nothing was allocated"),
            value(format_duration(node.skew_ms), "not measured"),
        )
        for node in listed[:MOST_NODES]
    ]
    if not rows:
        return cards.card("Nodes", cards.empty("No node has reported yet."), id="nodes")
    beyond = len(listed) - len(rows)
    more = f"{plural(beyond, 'more node')}, all better measured than these, on "
    return cards.card(
        "Nodes",
        [
            tables.table(columns, rows, caption="Nodes and their newest data"),
            html.P([more, html.A("Nodes", href="/nodes"), "."], className="total-line") if beyond else None,
        ],
        id="nodes",
    )


def _logs(request: Request, found: Health) -> Component:
    refused = [html.Li(name(one, wide=True)) for one in found.refused]
    slurm = found.slurm
    return cards.card(
        "What ran",
        [
            _log_table(request, "Jobs of the scheduler", found.jobs),
            _log_table(request, "Probes", gathered(found.probes)),
            html.Div([html.H3("Refused in 24 h"), html.Ul(refused, className="plain-list")]) if refused else None,
            html.P(f"Columns of newer collectors, kept aside: {', '.join(found.unknown_columns)}.")
            if found.unknown_columns
            else None,
            html.P(
                f"Finished jobs, {plural(slurm.runs, 'run')}: Slurm counts {format_gpu_h(slurm.slurm_gpu_h)}, "
                f"here {format_gpu_h(slurm.our_gpu_h)}.",
                className="total-line",
            )
            if slurm
            else None,
        ],
        id="logs",
    )


def _log_table(request: Request, title: str, rows: list[LogRow]) -> Child:
    if not rows:
        return None
    columns = [
        tables.Column(title=title),
        tables.Column(title="Where", phone=False),
        tables.Column(title="Last"),
        tables.Column(title="Took", number=True),
        tables.Column(title="Rows", number=True),
        tables.Column(title="Outcome"),
    ]
    return tables.table(
        columns,
        [
            (
                row.what.replace("_", " "),
                name(row.where),
                moment(row.at_ms, request.zone),
                f"{row.duration_ms:,.0f} ms",
                format_count(row.rows),
                "ok" if row.ok else html.Span([icon("alert"), name(row.error, "no reason given", wide=True)]),
            )
            for row in rows
        ],
        caption=title,
    )


def _unmeasurable(found: Health) -> Component | None:
    if not found.unmeasurable:
        return None
    groups: dict[tuple[str | None, str], list[Unmeasurable]] = {}
    for one in found.unmeasurable:
        groups.setdefault((one.model, one.reason), []).append(one)
    columns = [
        tables.Column(title="Model"),
        tables.Column(title="Readings"),
        tables.Column(title="Why"),
        tables.Column(title="GPUs", number=True),
    ]
    rows = [
        (name(model), ", ".join(one.label for one in ones), reason, format_count(max(one.gpus for one in ones)))
        for (model, reason), ones in groups.items()
    ]
    return cards.card(
        "Cannot be measured here",
        tables.table(columns, rows, caption="Readings that GPUs do not give"),
        id="unmeasurable",
    )


PAGE: Final = Page(
    module="health",
    path="/health",
    name="Health",
    question="Can I trust these numbers?",
    body=body,
    icon="health",
    group="Trust",
    order=80,
    live=True,
    default_range="24h",
)
