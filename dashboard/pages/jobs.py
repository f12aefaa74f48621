"""Jobs: which jobs, by idle GPU-hours?"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.queries import jobs as queries
from analytics.queries import shapes
from analytics.queries.choices import choices
from analytics.queries.jobs import JobPage
from analytics.queries.resolve import resolve
from analytics.wording import format_gpu_h, format_pct, plural, rule_title, run_state, share_pct
from dashboard.components import cards, controls, job_grid
from dashboard.components.figures import Figure, figure_row
from dashboard.components.spread import histogram, utilization_map
from dashboard.filters import job_path
from dashboard.page import Page
from dashboard.request import Request


def filters(request: Request) -> Sequence[Component]:
    """Returns range and filters; each offers what occurs in the window."""
    offered = choices(request.cur, request.viewer, request.window)
    states = ["running", "finished", *offered.states]
    return [
        controls.time_range(request),
        controls.filter_bar(
            request,
            [
                controls.text(request, "text", "Id or name"),
                controls.select(request, "user", "User", offered.users),
                controls.select(request, "account", "Account", offered.accounts),
                controls.select(request, "partition", "Partition", offered.partitions),
                controls.select(request, "model", "GPU model", offered.models),
                controls.select(request, "state", "State", states, {one: run_state(one) for one in offered.states}),
                controls.select(
                    request,
                    "finding",
                    "Finding",
                    ["any", *offered.rules],
                    {"any": "any finding"} | {rule: rule_title(rule) for rule in offered.rules},
                ),
                controls.number(request, "min_gpu_h", "GPU-h at least"),
                controls.number(request, "max_gpu_h", "GPU-h at most"),
                controls.number(request, "min_util_pct", "Util. % at least", highest=100),
                controls.number(request, "max_util_pct", "Util. % at most", highest=100),
            ],
        ),
    ]


def body(request: Request) -> Sequence[Any]:
    """Returns the sentence, the table with its total row, and the two spreads."""
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    first = cards.once(lambda: queries.jobs(request.cur, request.viewer, request.window, request.filter, limit=1))
    return [
        region("sentence", "The summary", lambda: _sentence(request, first())),
        region("figures", "The figures", lambda: figure_row(figures(first()))),
        region("table", "The table", lambda: job_grid.grid(request, first())),
        html.Div(
            [
                region("histogram", "GPU-hours by utilization", lambda: _histogram(request)),
                region("map", "Size against utilization", lambda: _map(request)),
            ],
            className="columns",
        ),
    ]


def _sentence(request: Request, page: JobPage) -> Component:
    total, words = page.total, request.words
    if total.count == 0:
        text = request.filter.text
        if text and resolve(request.cur, request.viewer, text):
            said = f"{words.run.capitalize()} {text} did not hold a GPU in this period or does not pass these filters: "
            return html.P([said, html.A("open it", href=job_path(text))], className="sentence", id="sentence")
        return html.P(
            f"No {words.run} held a GPU in this period with these filters.", className="sentence", id="sentence"
        )
    return html.P(sentence(request, page), className="sentence", id="sentence")


def sentence(request: Request, page: JobPage) -> str:
    """Returns how many runs there are, what they held and what of it was idle."""
    total, words = page.total, request.words
    measured = total.gpu_h - total.unknown_gpu_h
    share = share_pct(total.idle_gpu_h, measured)
    part = f" ({format_pct(share)} of what was measured)" if share is not None else ""
    return (
        f"{plural(total.count, words.run, words.runs)} held {format_gpu_h(total.gpu_h)}; "
        f"{format_gpu_h(total.idle_gpu_h)} of them were idle{part}."
    )


def figures(page: JobPage) -> list[Figure]:
    """Returns the totals of all runs that pass the filters."""
    total, seen = page.total, page.provenance
    shown = (
        ("gpu_h", "held_gpu_h", "GPU-hours", "allocated", total.gpu_h, None),
        ("active", "active_gpu_h", "Active", "active", total.active_gpu_h, "active"),
        ("low", "low_gpu_h", "Low", "low", total.low_gpu_h, "low"),
        ("idle_gpu_h", "idle_gpu_h", "Idle", "idle", total.idle_gpu_h, "idle"),
        ("unknown_gpu_h", "unknown_gpu_h", "Not measured", "not measured", total.unknown_gpu_h, "unknown"),
    )
    return [
            Figure(
                id=id, label=label, meaning=meaning, value=value, text=format_gpu_h(value), state=state,
                provenance=seen,
                share_pct=100 * value / total.gpu_h if state and total.gpu_h else None,
            )
            for _, id, label, meaning, value, state in shown
        ]  # fmt: skip


def _nouns(request: Request) -> tuple[str, str]:
    return request.words.run, request.words.runs


def _histogram(request: Request) -> Component:
    found = shapes.histogram(request.cur, request.viewer, request.window, request.filter)
    return cards.card("GPU-hours by utilization", histogram(found, request.address, _nouns(request)), id="histogram")


def _map(request: Request) -> Component:
    cells = shapes.hexmap(request.cur, request.viewer, request.window, request.filter)
    if not cells:
        return cards.card("Size against utilization", cards.empty("No run with a usable reading."), id="map")
    return cards.card("Size against utilization", utilization_map(cells, request.address, _nouns(request)), id="map")


PAGE: Final = Page(
    module="jobs",
    path="/jobs",
    name="Jobs",
    question="Which jobs, by idle GPU-hours?",
    body=body,
    controls=filters,
    icon="jobs",
    order=30,
)
