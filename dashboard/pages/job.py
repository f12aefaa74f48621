"""Job: what did this job do with its GPUs, and what to ask for next?"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, cast

from dash import html
from dash.development.base_component import Component

from analytics.queries import job as queries
from analytics.queries.job import JobDetail
from analytics.rules.idle_now import IdleNow
from analytics.rules.registry import REGISTERED
from analytics.wording import (
    format_duration,
    format_energy,
    format_gpu_h,
    format_pct,
    format_ratio,
    format_time,
    plural,
    run_state,
    words,
)
from dashboard.components import cards, gpu_table, job_charts, job_facts, job_processes
from dashboard.components.attributes import attributes
from dashboard.components.earlier import earlier_runs
from dashboard.components.figures import Figure, figure_row
from dashboard.components.findings import ask, could_not_judge, finding, recommendation
from dashboard.components.marks import badge, coverage_badge, moment, name, strip
from dashboard.filters import segment
from dashboard.page import Page
from dashboard.request import Request


def asked(request: Request) -> str:
    """Returns the id in the path, decoded."""
    return segment(request.address.path, "/jobs/")


def title(request: Request) -> Any:
    """Returns the heading: the id as people write it, without the cluster where there is only one."""
    cluster, _, rest = asked(request).partition(":")
    shown = rest if rest and request.store.clusters == [cluster] else asked(request)
    return html.Span([request.words.run.capitalize(), " ", html.Bdi(shown, className="name name-wide tabular")])


def body(request: Request) -> Sequence[Any]:
    """Returns the page of the newest run that the path means."""
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    found = cards.once(lambda: find(request))
    try:
        run, keys = found()
    except Exception:  # noqa: BLE001 - shown by the region below, which logs it
        return [region("run", "The run", lambda: found() and None)]
    if run is None:
        return [_not_found(request)]
    return [
        region("head", "The head", lambda: _head(request, run, keys)),
        region("figures", "The figures", lambda: figure_row(figures(run))),
        region("findings", "Findings", lambda: _findings(request, run)),
        html.Div(
            [
                region("lanes", "What each GPU did", lambda: job_charts.lanes_card(request, run)),
                region("metrics", "Measurements", lambda: job_charts.metrics_card(request, run)),
            ],
            **attributes(data_same_time="yes"),
        ),
        html.Div(
            [
                region("request", "Request and use", lambda: job_facts.request_card(run)),
                region("facts", "About this run", lambda: job_facts.facts_card(request, run)),
            ],
            className="columns",
        ),
        region("events", "Events", lambda: job_facts.events_card(request, run)),
        region("gpus", "The GPUs", lambda: gpu_table.card(run)),
        region("processes", "Processes", lambda: job_processes.card(request, run)),
        region("earlier", "Earlier runs", lambda: _earlier(request, run)),
    ]


def find(request: Request) -> tuple[JobDetail | None, list[int]]:
    """Returns the run that the address means, and the keys of all that have its id, newest first."""
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
        were = "was" if run.active_gpus == 1 else "were"
        said += f"; only {run.active_gpus} of the {gpus} {were} ever busy"
    elif run.active_gpus == 0:
        said += ", and none of them was ever busy" if gpus > 1 else ", and it was never busy"
    return said + "."


def _findings(request: Request, run: JobDetail) -> Component:
    shown: list[Any] = [finding(row, request.site, running=run.end_ms is None) for row in run.findings]
    shown += [recommendation(row) for row in run.recommendations if not row.missing]
    unjudged = could_not_judge(run.unjudged)
    if not shown:
        shown = [cards.empty(quiet(run, request))]
    lacking = [f"{row.title}: {row.missing}." for row in run.recommendations if row.missing]
    later = html.P(lacking[0], className="muted") if lacking else None
    heading = "What to change" if run.findings or run.recommendations else "Findings"
    return cards.card(
        heading, [*shown, later, unjudged], id="findings", aside=html.Span(ask(request.site), className="muted")
    )


def quiet(run: JobDetail, request: Request) -> str:
    """Returns what is said where nothing was found: that it is too early, and that it was used only where it was."""
    if run.unjudged:
        return "Nothing found. Some things could not be judged."
    analytics, word = request.services.analytics, words("sessions" if run.kind == "session" else "slurm").run
    now = cast("IdleNow", analytics.params(REGISTERED["idle_now"], run.partition, run.qos, run.account))
    idle_ms, short_ms = 1000 * now.idle_s, 1000 * analytics.confidence.short_s
    if run.end_ms is None and run.elapsed_ms < idle_ms:
        since = format_time(round(run.start_ms + idle_ms), request.zone)
        return (
            f"Too early to say: GPUs of a running {word} are called idle once they did nothing for "
            f"{format_duration(idle_ms)}, here from {since} on; the rest is judged when it is over."
        )
    if run.elapsed_ms < short_ms:
        return f"Too short to say: a {word} is judged from {format_duration(short_ms)} on."
    measured = run.gpu_h - run.unknown_gpu_h
    if measured and run.idle_gpu_h <= measured / 2:
        return "Nothing found. Its GPUs were used."
    return "Nothing found: no rule in force speaks of what its GPUs did."


def figures(run: JobDetail) -> list[Figure]:
    """Returns the figures of a run."""
    idle = 100 * run.idle_gpu_h / run.gpu_h if run.gpu_h else None
    return [
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


def _earlier(request: Request, run: JobDetail) -> Component | None:
    if not run.earlier:
        return None
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
