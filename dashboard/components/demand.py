"""Pending GPU requests against idle GPUs: the card, or in words why there is nothing to draw."""

from collections.abc import Sequence
from typing import Final

from dash import html
from dash.development.base_component import Component

from analytics.model import State
from analytics.queries.demand import Demand, DemandRow
from analytics.wording import format_duration, format_ratio, number_gpu_h
from dashboard.components import cards, chart
from dashboard.components.attributes import attributes
from dashboard.components.marks import coded, state_label, value
from dashboard.components.tables import Column, table
from dashboard.components.timetable import grouped
from dashboard.demand_figure import IDLE, WAITING, demand_figure
from dashboard.request import Request

_TITLE: Final = "Pending GPU requests against idle GPUs"
_READ_WHOLE: Final = 0.99
LEAST_GPUS: Final = 0.5
"""Fewer GPUs than this on average are not worth a sentence."""
_EMPTY: Final = {
    "never_read": (
        "No queue is read here.",
        'Name `queue` in [collector] probes on the host that reads accounting: probes = ["accounting", "queue"].',
    ),
    "not_in_window": (
        "The queue was not read in this period.",
        "Health says when the probe `queue` was last heard of, and what kept it.",
    ),
    "not_of_this": (
        "Requests that wait belong to the whole cluster or a partition.",
        "Take the filters off but those on cluster and partition.",
    ),
}


def demand_card(request: Request, found: Demand) -> Component:
    """Returns the card of the Overview."""
    if found.known != "yes":
        sentence, step = _EMPTY[found.known]
        return cards.card(_TITLE, cards.empty(sentence, next_step=coded(step)), id="demand")
    figure = demand_figure(found, request.zone, request.scheme, request.address.href, coarse=request.coarse)
    return cards.card(
        _TITLE,
        chart.graph(
            "overview-demand",
            figure,
            summary=demand_summary(found),
            table=_table(found, request.zone),
            legend=_legend(found),
        ),
        id="demand",
        aside=html.Span(f"per {format_duration(found.bucket_ms)}", className="resolution"),
    )


def demand_summary(found: Demand) -> str:
    """Returns what the chart shows in words."""
    rows = found.rows
    waiting, idle = _mean(rows, "waiting_gpus"), _mean(rows, "idle_gpus")
    if waiting is None:
        return "The queue was read for too little of this period to say what jobs asked for."
    length = sum(row.end_ms - row.start_ms for row in rows)
    read = sum(row.polled_ratio * (row.end_ms - row.start_ms) for row in rows) / length
    text = f"On average jobs waited for {number_gpu_h(waiting)} GPUs that were not free"
    text += f", while {number_gpu_h(idle)} held GPUs were idle." if idle is not None else "."
    not_ready = _mean(rows, "not_ready_gpus") or 0
    if not_ready >= LEAST_GPUS:
        text += f" {number_gpu_h(not_ready)} more were asked for by jobs that a hold, a dependency, a begin time or a "
        text += "limit keeps back: free GPUs would not start them."
    return text + ("" if read >= _READ_WHOLE else f" The queue was read for {format_ratio(read)} of the period.")


def _legend(found: Demand) -> Component:
    waiting, idle = _mean(found.rows, "waiting_gpus"), _mean(found.rows, "idle_gpus")
    line = html.Span(className="swatch swatch-line", **attributes(aria_hidden="true"))
    marks = ((html.Span([line, WAITING], className="state-label"), waiting), (state_label(State.IDLE, IDLE), idle))
    return html.Ul(
        [
            html.Li([mark, html.Span(f"{number_gpu_h(mean)} GPUs on average", className="legend-value")])
            for mark, mean in marks
            if mean is not None
        ],
        className="legend",
    )


def _table(found: Demand, zone: str) -> Component:
    columns = [
        Column(title="Start"),
        Column(title="GPUs waited for", number=True),
        Column(title="Jobs waiting", number=True),
        Column(title="GPUs of jobs kept back", number=True, phone=False),
        Column(title="GPUs held and idle", number=True),
        Column(title="Queue read", number=True, phone=False),
    ]
    fields = ("waiting_gpus", "waiting_jobs", "not_ready_gpus", "idle_gpus")
    rows = []
    for when, group in grouped(found.rows, found.bucket_ms, zone).items():
        waiting, jobs, kept_back, idle = (value(number_gpu_h(_mean(group, field)), "not known") for field in fields)
        read = sum(row.polled_ratio for row in group) / len(group)
        rows.append((when, waiting, jobs, kept_back, idle, format_ratio(read)))
    return table(columns, rows, caption="GPUs that pending jobs asked for and GPUs held and idle, on average")


def _mean(rows: Sequence[DemandRow], field: str) -> float | None:
    """Returns the mean over the time in which something is known; None where nothing is."""
    known = [(row.end_ms - row.start_ms, getattr(row, field)) for row in rows]
    known = [(length, one) for length, one in known if one is not None]
    total = sum(length for length, _ in known)
    return sum(length * one for length, one in known) / total if total else None
