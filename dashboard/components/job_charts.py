"""What the GPUs of a run did over time: state lanes, and measurements as small multiples beneath."""

from collections.abc import Sequence
from typing import Final

from dash import html
from dash.development.base_component import Component

from analytics.model import MINUTE_MS
from analytics.queries import lanes as lane_queries
from analytics.queries import series as series_queries
from analytics.queries import unmeasured
from analytics.queries.cores import NodeCores, cores
from analytics.queries.job import JobDetail
from analytics.wording import format_cores, format_duration, plural
from dashboard import live
from dashboard.bands import Bands
from dashboard.components import cards, chart
from dashboard.components.attributes import attributes
from dashboard.components.marks import state_label
from dashboard.figures import MAX_LANES, lanes_figure
from dashboard.multiples import (
    CORES,
    METRICS,
    ROWS,
    Row,
    bands_of,
    metrics_figure,
    shown_rows,
    what_is_drawn,
    with_cores,
)
from dashboard.request import Request

MARGIN_MS: Final = 5 * MINUTE_MS
MOST_POINTS: Final = 600
NO_CORES: Final = "no control group that counts CPU time was read on its nodes"
NO_CORES_OF_SESSIONS: Final = "on a host without Slurm nobody counts the CPU time of a session"
STATES_SHOWN: Final = ("active", "low", "idle_held", "idle", "unknown", "suspended")


def span(run: JobDetail) -> tuple[int, int]:
    """Returns the time that a run's charts show: its life and a margin, at most 5 minutes."""
    end = run.end_ms or run.data_to_ms or run.start_ms
    margin = min(MARGIN_MS, max(MINUTE_MS // 2, (end - run.start_ms) // 20))
    return run.start_ms - margin, end + margin


def lanes_card(request: Request, run: JobDetail) -> Component:
    """Returns GPU x time state lanes: "3 of 4 idle" at a glance."""
    found = lane_queries.lanes(request.cur, request.viewer, run.run_key)
    lanes = sorted(found.lanes, key=_idle_ms, reverse=True)[:MAX_LANES] if len(found.lanes) > MAX_LANES else found.lanes
    if not lanes:
        return cards.card("What each GPU did", cards.empty("No GPU of this run has been seen yet."), id="lanes")
    left_out = len(found.lanes) - len(lanes)
    notes = [f"{len(lanes)} of {len(found.lanes)} GPUs drawn, most idle first"] if left_out else []
    if found.merged_below_ms:
        notes.append(f"stretches under {format_duration(found.merged_below_ms)} are merged into their neighbours")
    figure = lanes_figure(
        lanes, span(run), run.events, request.zone, request.scheme, f"run-{run.run_key}", coarse=request.coarse
    )
    present = [state for state in STATES_SHOWN if any(s.state == state for lane in lanes for s in lane.stretches)]
    return cards.card(
        "What each GPU did",
        chart.graph(
            "job-lanes",
            figure,
            summary="; ".join([_lanes_summary(run), *notes]) + ".",
            legend=html.Ul([html.Li(state_label(state)) for state in present], className="legend"),
            table=None,
        ),
        id="lanes",
        aside=html.Span("every row" if found.from_raw else "per minute", className="resolution"),
    )


def _idle_ms(lane: lane_queries.Lane) -> int:
    return sum(s.end_ms - s.start_ms for s in lane.stretches if s.state in ("idle", "idle_held"))


def _lanes_summary(run: JobDetail) -> str:
    idle = [gpu for gpu in run.gpus if gpu.held_ms and (gpu.idle_ms + gpu.idle_held_ms) > 0.9 * gpu.held_ms]
    count = f"{len(idle)} of {plural(len(run.gpus), 'GPU')}" if idle else "No GPU"
    return f"{count} idle for over 90 % of the time; the table below has each GPU"


def _slowed_words(slowed: Bands) -> str:
    reasons = slowed.reasons
    if not reasons:
        return ""
    words = [reason.words + ("" if reason.fault else " (normal under load)") for reason in reasons]
    return f" Bands above the SM clock: {', '.join(words)}."


def _cores_words(allocated: float | None, nodes: Sequence[NodeCores]) -> str:
    if allocated is None or not nodes:
        return ""
    return f" CPU: {format_cores(allocated)} allocated" + (" on each node." if len(nodes) > 1 else ".")


def _bands_legend(slowed: Bands) -> Component | None:
    if not slowed.reasons:
        return None
    marks = [
        html.Li(
            html.Span(
                [html.Span(className=f"swatch band-{reason.id}"), reason.words],
                className="state-label",
            )
        )
        for reason in slowed.reasons
    ]
    return html.Ul(marks, className="legend")


def metrics_card(request: Request, run: JobDetail) -> Component:
    """Returns every measured metric of the run on one time axis."""
    measured = series_queries.metrics(request.cur, request.viewer, run.run_key, METRICS, MOST_POINTS, rates=True)
    nodes = cores(request.cur, request.viewer, run.run_key, measured.resolution_ms)
    found = with_cores(measured, nodes)
    rows = shown_rows(found)
    if not rows:
        return cards.card("Measurements", cards.empty("No measurement of this run has arrived yet."), id="metrics")
    drawn = what_is_drawn(len(measured.gpus))
    allocated = run.alloc_cpus / len(run.nodes) if run.alloc_cpus and run.nodes else None
    tops = {
        "mem_used_mib": max((gpu.mem_total_mib for gpu in run.gpus if gpu.mem_total_mib), default=None),
        "power_w": max((gpu.power_limit_w for gpu in run.gpus if gpu.power_limit_w), default=None),
        CORES.metric: max((allocated or 0.0, *(busy for node in nodes for busy in node.busy_cores if busy))),
    }
    figure = metrics_figure(
        found, span(run), tops, request.zone, request.scheme, f"run-{run.run_key}", coarse=request.coarse
    )
    slowed = bands_of(found, request.zone)
    marked = _slowed_words(slowed) + _cores_words(allocated, nodes)
    said = f"{drawn[0].upper()}{drawn[1:]}.{marked} The table below has each GPU's means."
    return cards.card(
        "Measurements",
        [
            chart.graph("job-metrics", figure, summary=said, legend=_bands_legend(slowed)),
            live.slot("job-unmeasured", _not_measured(request, run, [r for r in (*ROWS, CORES) if r not in rows])),
        ],
        id="metrics",
        aside=html.Span(f"per {format_duration(found.resolution_ms)}", className="resolution"),
    )


def _not_measured(request: Request, run: JobDetail, missing: Sequence[Row]) -> Component | None:
    """Names what has no line, each with the reason on hover and focus."""
    if not missing:
        return None
    why = unmeasured.reasons(request.cur, request.viewer, run.run_key)
    why[CORES.metric] = NO_CORES_OF_SESSIONS if run.kind == "session" else NO_CORES
    names = [_name_with_reason(row.title, why.get(row.metric, "no reading of it has arrived")) for row in missing]
    between: list[Component | str] = [part for one in names for part in (", ", one)][1:]
    return html.P(["Not measured here: ", *between, "."], className="chart-summary", id="not-measured")


def _name_with_reason(title: str, reason: str) -> Component:
    return html.Span(
        title, className="term", tabIndex=0, **attributes(data_tip=reason, aria_label=f"{title}: {reason}")
    )
