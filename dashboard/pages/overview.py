"""Overview: how much of what we own does work, and where do the hours go?"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.queries import demand, findings, hours, recommendations, summary, timeline
from analytics.queries.comparison import Change, NotComparable
from analytics.queries.hours import By, Hours, HoursRow
from analytics.queries.summary import Summary
from analytics.queries.timeline import Timeline
from analytics.wording import (
    format_count,
    format_duration,
    format_energy,
    format_gpu_h,
    format_pct,
    format_ratio,
    number_gpu_h,
    plural,
)
from dashboard.components import cards, first_run, shell, tables
from dashboard.components.attributes import attributes
from dashboard.components.controls import links, time_range
from dashboard.components.demand import demand_card
from dashboard.components.figures import Figure, figure_row
from dashboard.components.links import filter_link, run_link
from dashboard.components.marks import Child, icon, name
from dashboard.components.timeline import timeline_chart
from dashboard.page import Page
from dashboard.request import Request

BREAKDOWNS: Final[dict[str, str]] = {"partition": "Partition", "model": "Model", "account": "Account"}
SESSION_BREAKDOWNS: Final[dict[str, str]] = {"user": "User", "model": "Model"}
SHOWN_ROWS: Final = 8
OF_THE_WHOLE: Final = "belongs to the whole cluster, not to a part of its jobs"
MOST_BARS: Final = 120


def body(request: Request) -> Sequence[Any]:
    """Returns sentence, funnel, main chart, breakdown, and what could be acted on now."""
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    said = cards.once(lambda: summary.summary(request.cur, request.viewer, request.window, request.filter, count=False))
    over_time = cards.once(
        lambda: timeline.over_time(request.cur, request.viewer, request.window, request.filter, MOST_BARS)
    )
    steps = region("first-run", "First steps", lambda: first_run.checklist(request))
    if request.store.data_to_ms is None:
        return [steps]
    return [
        steps,
        region("sentence", "The summary", lambda: _sentence(request, said())),
        region("figures", "The figures", lambda: _figures(request, said())),
        region("timeline", "GPU-hours over time", lambda: _timeline(request, over_time())),
        region("demand", "Pending GPU requests", lambda: _demand(request, over_time)),
        html.Div(
            [
                region("breakdown", "Where the idle hours are", lambda: _breakdown(request, said)),
                region("idle-now", "Idle right now", lambda: _idle_now(request)),
            ],
            className="columns",
        ),
        region("recommendations", "Recommendations", lambda: _recommendations(request)),
    ]


def _sentence(request: Request, said: Summary) -> Component | None:
    """No sentence from less than an hour: it would say much about little."""
    if request.window.hours < 1:
        return None
    return html.P(said.sentence, className="sentence", id="sentence")


def figures(request: Request, said: Summary) -> tuple[list[Figure], list[Figure]]:
    """Returns the funnel, and the figures beside it."""
    now, address = said.hours, request.here
    nodes, jobs = address.to("/nodes").href, address.to("/jobs", sort="idle_gpu_h").href
    by_size = address.to("/jobs", sort="gpu_h").href
    change = said.change if isinstance(said.change, Change) else None
    seen, is_part = now.provenance, now.capacity_gpu_h is None
    funnel = [
        Figure(
            id="capacity_gpu_h", label="Capacity", meaning="capacity", value=now.capacity_gpu_h, provenance=seen,
            text=format_gpu_h(now.capacity_gpu_h), href=nodes, share_pct=None if is_part else 100, state="unallocated",
            note=OF_THE_WHOLE if is_part else _unheld(now) or plural(request.store.gpus, "GPU"),
            why_unknown=OF_THE_WHOLE,
        ),
        Figure(
            id="held_gpu_h", label="Allocated", meaning="allocated", value=now.held_gpu_h, provenance=seen,
            text=format_gpu_h(now.held_gpu_h), href=by_size, share_pct=said.allocated_share_pct,
            note=None if is_part else _of(
                said.allocated_share_pct, "what was not offline" if now.offline_gpu_h else "capacity"
            ),
        ),
        Figure(
            id="active_gpu_h", label="Active", meaning="active", value=now.active_gpu_h, provenance=seen,
            text=format_gpu_h(now.active_gpu_h), href=by_size, share_pct=said.active_share_pct, state="active",
            note=_of(said.active_share_pct, "measured hours"),
        ),
        Figure(
            id="effective_share_pct", label="Effective", meaning="effective", value=said.effective_share_pct,
            text=format_pct(said.effective_share_pct), provenance=seen, share_pct=said.effective_share_pct,
            note=_source(now.effective_source), why_unknown="no SM activity and no power reading",
        ),
    ]  # fmt: skip
    others = [
        Figure(
            id="idle_gpu_h", label="Idle", meaning="idle", value=now.idle_gpu_h, provenance=seen, state="idle",
            text=format_gpu_h(now.idle_gpu_h), href=jobs, share_pct=said.idle_share_pct,
            note=_change(said.change, change.idle_gpu_h if change else None)
            or _of(said.idle_share_pct, "measured hours"),
        ),
        Figure(
            id="energy_kwh", label="Energy", value=now.energy_kwh, provenance=seen, href=nodes,
            text=format_energy(now.energy_kwh, estimated=now.energy_estimated),
            note="by the GPUs' own counters" if not now.energy_estimated else "partly estimated from power",
            why_unknown="no energy or power reading",
        ),
        Figure(
            id="coverage", label="Coverage", meaning="coverage", value=now.coverage, provenance=seen,
            text=format_ratio(now.coverage), href="/health",
            note=f"{number_gpu_h(now.unknown_gpu_h)} GPU-h not measured",
            why_unknown="nothing was allocated",
        ),
    ]  # fmt: skip
    return funnel, others


def _figures(request: Request, said: Summary) -> Component:
    funnel, others = figures(request, said)
    return html.Div([figure_row(funnel, "funnel"), figure_row(others)], className="figure-groups")


def _unheld(now: Hours) -> str | None:
    """Returns what of the capacity nobody held, where Slurm tells why."""
    parts = (
        ("free", now.free_gpu_h),
        ("stranded", now.stranded_gpu_h),
        ("reserved", now.reserved_gpu_h),
        ("offline", now.offline_gpu_h),
    )
    said = [f"{number_gpu_h(hours)} {word}" for word, hours in parts if hours]
    return ", ".join(said) or None


def _of(share_pct: float | None, whole: str) -> str:
    return f"{format_pct(share_pct)} of {whole}" if share_pct is not None else f"too little for a share of {whole}"


def _source(source: str | None) -> str:
    return {"measured": "mean SM activity", "estimated": "estimated from power"}.get(source or "", "")


def _change(change: Change | NotComparable | None, difference: float | None) -> Child:
    if isinstance(change, NotComparable):
        return html.Span("not comparable", className="term", tabIndex=0, **attributes(data_tip=change.sentence))
    if difference is None:
        return None
    if round(difference) == 0:
        return "as in the same span before"
    return f"{'▲' if difference > 0 else '▼'} {number_gpu_h(abs(difference))} against the same span before"


def _timeline(request: Request, found: Timeline) -> Component:
    return cards.card(
        "GPU-hours by state",
        timeline_chart(request, found, "overview-timeline", request.window, request.address.href),
        id="timeline",
        aside=html.Span(f"per {format_duration(found.bucket_ms)}", className="resolution"),
    )


def _demand(request: Request, over_time: Callable[[], Timeline]) -> Component | None:
    """A host whose programs are counted as sessions has no queue."""
    if request.store.kind != "slurm":
        return None
    return demand_card(request, demand.demand(request.cur, request.viewer, request.window, request.filter, over_time()))


def _breakdowns(request: Request) -> dict[str, str]:
    return SESSION_BREAKDOWNS if request.store.kind == "sessions" else BREAKDOWNS


def chosen_breakdown(request: Request) -> By:
    """Returns by what the idle hours are broken down: as the address says, else by the first that is offered."""
    offered, chosen = _breakdowns(request), request.address.get("by")
    by: By = chosen if chosen in offered else next(iter(offered))  # type: ignore[assignment] # the keys are of By
    return by


def _breakdown(request: Request, said: Callable[[], Summary]) -> Component:
    by = chosen_breakdown(request)
    rows = hours.breakdown(request.cur, request.viewer, request.window, request.filter, by, count=False)
    shown = [_bar(request, by, row) for row in rows[:SHOWN_ROWS] if row.idle_gpu_h > 0]
    rest = sum(row.idle_gpu_h for row in rows[SHOWN_ROWS:])
    if rest > 0:
        shown.append((plural(len(rows) - SHOWN_ROWS, "other", "others"), rest, format_gpu_h(rest)))
    return cards.card(
        "Where the idle hours are",
        [
            tables.bars(shown, mark="state-idle") if shown else cards.empty("No idle hours in this period."),
            html.P(f"Together {format_gpu_h(said().hours.idle_gpu_h)}", className="total-line"),
        ],
        id="breakdown",
        aside=links(request.address, "by", _breakdowns(request), by, "Break down by"),
    )


def _bar(request: Request, by: str, row: HoursRow) -> tuple[Any, float, Any]:
    share = f" · {format_pct(100 * row.idle_gpu_h / row.measured_gpu_h)}" if row.measured_gpu_h >= 10 else ""
    label = filter_link(request.here.change(by=None), "/jobs", by, row.key, f"{by} not known")
    return label, row.idle_gpu_h, f"{format_gpu_h(row.idle_gpu_h)}{share}"


def _idle_now(request: Request) -> Component:
    rows = findings.idle_now(request.cur, request.viewer, request.filter)
    columns = [
        tables.Column(title=request.words.run.capitalize()),
        tables.Column(title="User"),
        tables.Column(title="GPUs", number=True),
        tables.Column(title="Idle for", number=True),
        tables.Column(title="Idle GPU-h", number=True),
    ]
    content: Component = (
        tables.table(
            columns,
            [
                (
                    run_link(row.job_id, row.cluster),
                    name(row.user),
                    format_count(row.gpus),
                    format_duration(row.idle_ms),
                    number_gpu_h(row.idle_gpu_h),
                )
                for row in rows
            ],
            caption=f"{request.words.runs} that are idle now",
        )
        if rows
        else shell.nothing(request, f"No running {request.words.run} is idle right now.")
    )
    return cards.card("Idle right now", content, id="idle-now")


def _recommendations(request: Request) -> Component:
    page = recommendations.recommendations(request.cur, request.viewer, request.window, request.filter, limit=5)
    address = request.here.to("/recommendations")
    if not page.items:
        text = shell.nothing(request, "No recommendation rests on enough runs yet.")
        return cards.card("What to change", text, id="changes")
    columns = [
        tables.Column(title="Change"),
        tables.Column(title="For"),
        tables.Column(title="User"),
        tables.Column(title="Gain or cost", phone=False),
        tables.Column(title="Frees a week", number=True),
    ]
    rows = [
        (
            html.Span([html.Strong(row.title), html.Span(f"{row.current} → {row.proposed}", className="sub")]),
            name(row.name, "no name"),
            name(row.user),
            row.gain,
            format_gpu_h(row.gpu_h_week) if row.gpu_h_week > 0 else "—",
        )
        for row in page.items
    ]
    return cards.card(
        "What to change",
        tables.table(columns, rows, caption="Open recommendations by GPU-hours"),
        id="changes",
        aside=html.A(
            [f"All {format_count(page.total.count)}", icon("arrow")], href=address.href, className="strong-link"
        ),
    )


PAGE: Final = Page(
    module="overview",
    path="/",
    name="Overview",
    question="How much of what we own does work, and where do the hours go?",
    body=body,
    controls=lambda request: [time_range(request)],
    icon="overview",
    order=10,
    live=True,
)
