"""What a run asked for and used, where it ran, and what happened there."""

from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.queries.job import JobDetail
from analytics.wording import UNKNOWN, format_count, format_duration, format_mib, format_ratio
from dashboard.components import cards, tables
from dashboard.components.links import node_link
from dashboard.components.marks import moment, name, value
from dashboard.request import Request

MOST_NODES: Final = 8
MOST_EVENTS: Final = 50
NO_ACCOUNTING: Final = "not known yet: accounting has not told"


def request_card(run: JobDetail) -> Component | None:
    """Returns request against use; nothing for a session, which asked for nothing."""
    if run.kind == "session":
        return None
    active = f"{format_count(run.active_gpus)} ever active of {format_count(run.allocated_gpus)} held"
    limit = "unlimited" if run.timelimit_unlimited else format_duration(run.timelimit_ms)
    rows = [
        ("GPUs", format_count(run.requested_gpus), active),
        ("CPU cores", format_count(run.alloc_cpus), f"{format_ratio(run.cpu_efficiency)} busy"),
        ("Host memory", format_mib(run.requested_mem_mib), f"{format_mib(run.max_rss_mib)} at most"),
        ("Time", limit, format_duration(run.elapsed_ms)),
    ]
    columns = [
        tables.Column(title="What"),
        tables.Column(title="Requested", number=True),
        tables.Column(title="Used", number=True),
    ]
    cells = [(what, value(wanted, NO_ACCOUNTING), _used(used)) for what, wanted, used in rows]
    return cards.card(
        "Request and use",
        tables.table(columns, cells, caption="What was requested and what was used"),
        id="request",
    )


def _used(text: str) -> Any:
    return value(UNKNOWN, NO_ACCOUNTING) if UNKNOWN in text else text


def facts_card(request: Request, run: JobDetail) -> Component:
    """Returns nodes, model and what accounting tells."""
    more = len(run.nodes) - MOST_NODES
    nodes = [part for node in run.nodes[:MOST_NODES] for part in (node_link(node), " ")]
    facts: list[tuple[Any, Any]] = [
        ("Nodes", html.Span([*nodes, f"and {more} more" if more > 0 else None])),
        ("GPU model", name(run.model, "not known")),
        ("Submitted", moment(run.submit_ms, request.zone, NO_ACCOUNTING)),
        ("QOS", name(run.qos, NO_ACCOUNTING)),
        ("Exit code", name(run.exit_code, NO_ACCOUNTING)),
        ("Directory", name(run.work_dir, NO_ACCOUNTING, wide=True)),
    ]
    if run.kind == "session":
        facts = facts[:2]
    return cards.card(f"About this {request.words.run}", tables.definition(facts), id="facts")


def events_card(request: Request, run: JobDetail) -> Component | None:
    """Returns what happened on the run's nodes, or nothing."""
    if not run.events:
        return None
    columns = [tables.Column(title="When"), tables.Column(title="Where"), tables.Column(title="What")]
    rows = [
        (
            moment(event.ts_ms, request.zone),
            name(event.gpu or event.node),
            html.Span([event.kind.replace("_", " "), html.Span(event.detail, className="sub")]),
        )
        for event in run.events[:MOST_EVENTS]
    ]
    return cards.card("Events", tables.table(columns, rows, caption="Events on the run's nodes"), id="events")
