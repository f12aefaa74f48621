"""Job: what did this job do with its GPUs, and what to ask for next?"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.model import MINUTE_MS
from analytics.queries import job as queries
from analytics.queries import lanes as lane_queries
from analytics.queries import series as series_queries
from analytics.queries.job import JobDetail
from analytics.wording import (
    UNKNOWN,
    format_count,
    format_duration,
    format_energy,
    format_gpu_h,
    format_mib,
    format_pct,
    format_ratio,
    plural,
    run_state,
)
from dashboard.components import cards, chart, gpu_table, tables
from dashboard.components.attributes import attributes
from dashboard.components.figures import Figure, figure_row
from dashboard.components.findings import ask, could_not_judge, finding, recommendation
from dashboard.components.links import node_link
from dashboard.components.marks import badge, coverage_badge, moment, name, state_label, strip, value
from dashboard.figures import MAX_LANES, lanes_figure
from dashboard.filters import segment
from dashboard.multiples import METRICS, ROWS, metrics_figure, shown_rows
from dashboard.page import Page
from dashboard.request import Request

MARGIN_MS: Final = 5 * MINUTE_MS
STATES_SHOWN: Final = ("active", "low", "idle_held", "idle", "unknown")


def asked(request: Request) -> str:
    """Returns the id in the path, decoded."""
    return segment(request.address.path, "/jobs/")


def title(request: Request) -> Any:
    """Returns the heading: the id as people write it."""
    return html.Span(
        [request.words.run.capitalize(), " ", html.Bdi(asked(request), className="name name-wide tabular")]
    )


def body(request: Request) -> Sequence[Any]:
    """Returns the page of the newest run that the path means."""
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    found = cards.once(lambda: _find(request))
    try:
        run, keys = found()
    except Exception:  # noqa: BLE001 - shown by the region below, which logs it
        return [region("run", "The run", lambda: found() and None)]
    if run is None:
        return [_not_found(request)]
    return [
        region("head", "The head", lambda: _head(request, run, keys)),
        region("findings", "Findings", lambda: _findings(request, run)),
        region("figures", "The figures", lambda: _figures(run)),
        region("lanes", "What each GPU did", lambda: _lanes(request, run)),
        region("metrics", "Measurements", lambda: _metrics(request, run)),
        html.Div(
            [
                region("request", "Request and use", lambda: _request(request, run)),
                region("events", "Events", lambda: _events(request, run)),
            ],
            className="columns",
        ),
        region("gpus", "The GPUs", lambda: gpu_table.card(run, request.zone)),
        region("earlier", "Earlier runs", lambda: _earlier(request, run)),
    ]


def _find(request: Request) -> tuple[JobDetail | None, list[int]]:
    keys = queries.resolve(request.cur, request.viewer, asked(request))
    chosen = request.address.get("run")
    key = int(chosen) if chosen and chosen.isdigit() and int(chosen) in keys else next(iter(keys), None)
    return (queries.job(request.cur, request.viewer, key) if key is not None else None), keys


def _not_found(request: Request) -> Component:
    return cards.empty(
        ["No ", request.words.run, " of this id has held a GPU here."],
        next_step=[html.A(f"Search all {request.words.runs}", href="/jobs"), " for a part of its id or name."],
    )


def _head(request: Request, run: JobDetail, keys: list[int]) -> Component:
    who = [
        name(run.name, "no name", wide=True),
        name(run.user, "user not known yet"),
        name(run.account, "account not known yet"),
        name(run.partition, "partition not known yet"),
    ]
    if run.kind == "session":
        who = who[:2]
    return html.Div(
        [
            html.P(
                [
                    badge(run_state(run.state), "accent" if run.end_ms is None else "plain"),
                    *who,
                    html.Span([moment(run.start_ms, request.zone), " – ", _end(request, run)], className="nowrap"),
                    coverage_badge(run.coverage),
                ],
                className="run-facts",
            ),
            html.P(sentence(run), className="sentence", id="sentence"),
            strip(run.strip),
            _others(request, run, keys),
        ]
    )


def _end(request: Request, run: JobDetail) -> Component | str:
    return moment(run.end_ms, request.zone) if run.end_ms is not None else "running"


def _others(request: Request, run: JobDetail, keys: list[int]) -> Component | None:
    if len(keys) < 2:
        return None
    return html.P(
        [
            f"{plural(len(keys), 'run')} have this id: ",
            *(
                html.A(
                    f"run {len(keys) - index} ",
                    href=request.address.change(run=key).href,
                    **attributes(aria_current="true" if key == run.run_key else None),
                )
                for index, key in enumerate(keys)
            ),
        ],
        className="muted",
    )


def sentence(run: JobDetail) -> str:
    """Returns the answer in one sentence: what was held, what it did, how sure that is."""
    gpus = run.allocated_gpus or run.seen_gpus
    held = f"{plural(gpus, 'GPU')} for {format_duration(run.elapsed_ms)} ({format_gpu_h(run.gpu_h)})"
    measured = run.gpu_h - run.unknown_gpu_h
    if measured <= 0:
        return f"Held {held}; nothing of it could be measured."
    parts = [
        f"active {format_pct(100 * run.active_gpu_h / measured)}",
        f"idle {format_pct(100 * run.idle_gpu_h / measured)}",
    ]
    said = f"Held {held}: {parts[0]} and {parts[1]} of the measured time"
    if run.active_gpus is not None and 0 < run.active_gpus < gpus:
        said += f", on {run.active_gpus} of {gpus} GPUs"
    elif run.active_gpus == 0:
        said += ", and none of them was ever busy"
    return said + "."


def _findings(request: Request, run: JobDetail) -> Component:
    shown: list[Any] = [finding(row, request.site) for row in run.findings]
    shown += [recommendation(row) for row in run.recommendations]
    unjudged = could_not_judge(run.unjudged)
    if not shown:
        quiet = "Nothing found. " + ("Its GPUs were used." if not run.unjudged else "Some things could not be judged.")
        shown = [cards.empty(quiet)]
    heading = "What to change" if run.findings or run.recommendations else "Findings"
    return cards.card(heading, [*shown, unjudged], id="findings", aside=html.Span(ask(request.site), className="muted"))


def _figures(run: JobDetail) -> Component:
    idle = 100 * run.idle_gpu_h / run.gpu_h if run.gpu_h else None
    figures = [
        Figure(
            id="gpu_h", label="GPU-hours", meaning="allocated", value=run.gpu_h, text=format_gpu_h(run.gpu_h),
            note=f"Slurm counts {format_gpu_h(run.slurm_gpu_h)}" if run.slurm_gpu_h is not None else None,
        ),
        Figure(
            id="idle_gpu_h", label="Idle", meaning="idle", value=run.idle_gpu_h, text=format_gpu_h(run.idle_gpu_h),
            share_pct=idle, state="idle",
            note=f"memory held {format_gpu_h(run.idle_held_gpu_h)}" if run.idle_held_gpu_h else None,
        ),
        Figure(
            id="util_mean_pct", label="Utilization", meaning="utilization", value=run.util_mean_pct,
            text=format_pct(run.util_mean_pct), share_pct=run.util_mean_pct,
            note=f"SM activity {format_pct(run.sm_mean_pct)}" if run.sm_mean_pct is not None else "mean",
        ),
        Figure(
            id="mem_max_ratio", label="Peak memory", value=run.mem_max_ratio, text=format_ratio(run.mem_max_ratio),
            share_pct=None if run.mem_max_ratio is None else 100 * run.mem_max_ratio, note="of the fullest GPU",
        ),
        Figure(
            id="power_mean_ratio", label="Power", value=run.power_mean_ratio, text=format_ratio(run.power_mean_ratio),
            share_pct=None if run.power_mean_ratio is None else 100 * run.power_mean_ratio, note="of the limit, mean",
        ),
        Figure(
            id="energy_kwh", label="Energy", value=run.energy_kwh,
            text=format_energy(run.energy_kwh, estimated=run.energy_estimated),
        ),
    ]  # fmt: skip
    return figure_row(figures)


def _span(run: JobDetail) -> tuple[int, int]:
    end = run.end_ms or run.data_to_ms or run.start_ms
    margin = min(MARGIN_MS, max(MINUTE_MS // 2, (end - run.start_ms) // 20))
    return run.start_ms - margin, end + margin


def _lanes(request: Request, run: JobDetail) -> Component:
    found = lane_queries.lanes(request.cur, request.viewer, run.run_key)
    lanes = sorted(found.lanes, key=_idle_ms, reverse=True)[:MAX_LANES] if len(found.lanes) > MAX_LANES else found.lanes
    if not lanes:
        return cards.card("What each GPU did", cards.empty("No GPU of this run has been seen yet."), id="lanes")
    left_out = len(found.lanes) - len(lanes)
    notes = [f"{len(lanes)} of {len(found.lanes)} GPUs drawn, most idle first"] if left_out else []
    if found.merged_below_ms:
        notes.append(f"stretches under {format_duration(found.merged_below_ms)} are merged into their neighbours")
    figure = lanes_figure(
        lanes, _span(run), run.events, request.zone, request.scheme, f"run-{run.run_key}", coarse=request.coarse
    )
    present = [state for state in STATES_SHOWN if any(s.state == state for lane in lanes for s in lane.stretches)]
    return cards.card(
        "What each GPU did",
        chart.graph(
            "job-lanes",
            figure,
            summary=". ".join([_lanes_summary(run), *notes]) + ".",
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
    return f"{len(idle)} of {plural(len(run.gpus), 'GPU')} idle for over 90 % of the time; the table below has each GPU"


def _metrics(request: Request, run: JobDetail) -> Component:
    found = series_queries.metrics(request.cur, request.viewer, run.run_key, METRICS)
    rows = shown_rows(found)
    if not rows:
        return cards.card("Measurements", cards.empty("No measurement of this run has arrived yet."), id="metrics")
    missing = [row.title for row in ROWS if row not in rows]
    absent = f" Not offered by these GPUs or this driver: {', '.join(missing)}." if missing else ""
    drawn = "thin lines: each GPU, bold: their mean" if len(found.gpus) > 1 else "one line a measurement"
    figure = metrics_figure(
        found, _span(run), request.zone, request.scheme, f"run-{run.run_key}", coarse=request.coarse
    )
    return cards.card(
        "Measurements",
        chart.graph(
            "job-metrics", figure, summary=f"{drawn.capitalize()}.{absent} The table below has each GPU's means."
        ),
        id="metrics",
        aside=html.Span(f"per {format_duration(found.resolution_ms)}", className="resolution"),
    )


def _request(request: Request, run: JobDetail) -> Component:
    limit = "unlimited" if run.timelimit_unlimited else format_duration(run.timelimit_ms)
    asked_for = [
        (
            "GPUs",
            format_count(run.requested_gpus),
            f"{format_count(run.active_gpus)} ever active of {format_count(run.allocated_gpus)} held",
        ),
        ("CPU cores", format_count(run.alloc_cpus), f"{format_ratio(run.cpu_efficiency)} busy"),
        ("Host memory", format_mib(run.requested_mem_mib), f"{format_mib(run.max_rss_mib)} at most"),
        ("Time", limit, f"{format_duration(run.elapsed_ms)} used"),
    ]
    columns = [
        tables.Column(title="What"),
        tables.Column(title="Requested", number=True),
        tables.Column(title="Used", number=True),
    ]
    rows = [
        (
            what,
            value(want, "not known: accounting has not told"),
            html.Span(used) if UNKNOWN not in used else value(UNKNOWN, "not known yet"),
        )
        for what, want, used in asked_for
    ]
    facts = tables.definition(
        [
            (
                "Nodes",
                html.Span(
                    [part for node in run.nodes[:8] for part in (node_link(node), " ")]
                    + ([f"and {len(run.nodes) - 8} more"] if len(run.nodes) > 8 else [])
                ),
            ),
            ("GPU model", name(run.model, "not known")),
            ("Submitted", moment(run.submit_ms, request.zone)),
            ("QOS", name(run.qos, "not known")),
            ("Exit code", name(run.exit_code, "not known yet")),
        ]
    )
    if run.kind == "session":
        return cards.card("About this session", facts, id="request")
    return cards.card(
        "Request and use",
        [tables.table(columns, rows, caption="What was requested and what was used"), facts],
        id="request",
    )


def _events(request: Request, run: JobDetail) -> Component:
    if not run.events:
        return cards.card("Events", cards.empty("Nothing happened on its nodes while it ran."), id="events")
    columns = [tables.Column(title="When"), tables.Column(title="Where"), tables.Column(title="What")]
    rows = [
        (
            moment(event.ts_ms, request.zone),
            name(event.gpu or event.node),
            html.Span([event.kind.replace("_", " "), html.Span(event.detail, className="sub")]),
        )
        for event in run.events[:50]
    ]
    return cards.card("Events", tables.table(columns, rows, caption="Events on the run's nodes"), id="events")


def _earlier(request: Request, run: JobDetail) -> Component | None:
    if not run.earlier:
        return None
    from dashboard.components.earlier import earlier_runs

    return cards.card(
        "Runs like this one", earlier_runs(run.earlier, request.zone, request.words.run, run.cluster), id="earlier"
    )


PAGE: Final = Page(
    module="job",
    path="/jobs/<job_id>",
    name="Job",
    question="What did this job do with its GPUs, and what to ask for next?",
    body=body,
    title=title,
    order=31,
    live=True,
    default_range="30d",
)
