"""Me: my running jobs, at most three things to change, my last 30 days. Where people land."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.model import Filter, Window
from analytics.queries import choices, hours
from analytics.queries import me as queries
from analytics.queries.me import Me
from analytics.queries.timeline import Timeline
from analytics.wording import format_duration, format_gpu_h, format_pct, format_time, plural, share_pct
from dashboard.components import cards
from dashboard.components.controls import select
from dashboard.components.figures import Figure, figure_row
from dashboard.components.findings import finding_group, recommendation
from dashboard.components.runs import run_table, running_card
from dashboard.components.timeline import timeline_chart
from dashboard.live import slot
from dashboard.page import Page
from dashboard.request import Request

DAYS: Final = 30
MOST_CHANGES: Final = 3


def who(request: Request) -> str | None:
    """Returns whose page it is: the one in the address, else the viewer, else (synthetic data) an example."""
    asked = request.address.get("user")
    if asked:
        return asked
    if request.store.synthetic:
        return _example(request)
    # Before sign-in the viewer is whoever runs the hub, such as root, and that is often nobody with jobs.
    known = request.viewer.kind != "admin" or request.viewer.user in _users(request)
    return request.viewer.user if known else None


def _example(request: Request) -> str | None:
    """Somebody with something to see, the same at every visit: who was idle most."""
    rows = hours.breakdown(request.cur, request.viewer, window_of(request), Filter(), "user", count=False)
    return next((row.key for row in rows if row.key), None)


def window_of(request: Request) -> Window:
    """Returns the last 30 days."""
    return Window.last(24 * DAYS, request.as_of_ms, request.zone)


def _users(request: Request) -> list[str]:
    return choices.users(request.cur, request.viewer, window_of(request))


def why(request: Request) -> str | None:
    """Returns why it is this person's page where nobody chose one."""
    if request.address.get("user") or not request.store.synthetic or request.viewer.kind != "admin":
        return None
    return "An invented person, taken as an example: the one with the most idle GPU-hours of the last 30 days."


def controls(request: Request) -> Sequence[Component]:
    """Returns, for an admin, the choice of a person: before sign-in everybody who may look is one."""
    if request.viewer.kind != "admin":
        return ()
    return [select(request, "user", "Look as", _users(request))]


def body(request: Request) -> Sequence[Any]:
    """Returns the page, or a friendly word where the person ran nothing."""
    user = who(request)
    if user is None and _users(request):
        return [cards.empty("Whose GPUs? Choose a name under “Look as”.", next_step="The address then is that page.")]
    if user is None:
        return [cards.empty("Nobody has held a GPU yet.", next_step="Your page fills itself with your first job.")]
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    mine = cards.once(lambda: queries.me(request.cur, request.viewer, request.as_of_ms, user, request.zone))
    return [
        html.P(reason, className="muted") if (reason := why(request)) else None,
        region("sentence", "Your summary", lambda: html.P(mine().sentence, className="sentence", id="sentence")),
        region("running", "What runs now", lambda: _running(request, mine())),
        region("changes", "What to change", lambda: _changes(request, mine())),
        region("mine", "Your last 30 days", lambda: _hours(request, mine())),
        region("recent", "Your recent runs", lambda: _recent(request, mine())),
    ]


def _running(request: Request, mine: Me) -> Component:
    noun = request.words.runs
    if not mine.running:
        return cards.card("Running now", cards.empty(f"None of your {noun} holds a GPU right now."), id="running")
    return cards.card("Running now", [running_card(run) for run in mine.running], id="running")


def _changes(request: Request, mine: Me) -> Component:
    shown = [
        recommendation(row, mends=[group for group in mine.mended if row.family in group.families])
        for row in mine.recommendations[:MOST_CHANGES]
    ]
    room = MOST_CHANGES - len(shown)
    running = {run.job.run_key for run in mine.running}
    shown += [finding_group(group, request.site, running) for group in mine.findings[:room]]
    if not shown:
        return cards.card("Nothing to change", cards.empty(mine.sentence), id="changes")
    title = "One thing to change" if len(shown) == 1 else f"{len(shown)} things to change"
    return cards.card(title, shown, id="changes")


def figures(request: Request, mine: Me) -> list[Figure]:
    """Returns the figures of the last 30 days."""
    now = mine.hours
    jobs = request.here.to("/jobs", user=mine.user, range=f"{DAYS}d").href
    active = share_pct(now.active_gpu_h, now.measured_gpu_h)
    idle = share_pct(now.idle_gpu_h, now.measured_gpu_h)
    return [
        Figure(
            id="held_gpu_h", label="Held", meaning="allocated", value=now.held_gpu_h, href=jobs,
            text=format_gpu_h(now.held_gpu_h), note=plural(now.runs or 0, request.words.run, request.words.runs),
            provenance=now.provenance,
        ),
        Figure(
            id="active_gpu_h", label="Active", meaning="active", value=now.active_gpu_h, href=jobs, state="active",
            text=format_gpu_h(now.active_gpu_h), share_pct=active, provenance=now.provenance,
            note=f"{format_pct(active)} of measured hours" if active is not None else None,
        ),
        Figure(
            id="idle_gpu_h", label="Idle", meaning="idle", value=now.idle_gpu_h, href=jobs, state="neutral",
            text=format_gpu_h(now.idle_gpu_h), share_pct=idle, provenance=now.provenance,
            note=f"{format_pct(idle)} of measured hours" if idle is not None else None,
        ),
        Figure(
            id="unknown_gpu_h", label="Not measured", meaning="not measured", value=now.unknown_gpu_h, href=jobs,
            text=format_gpu_h(now.unknown_gpu_h), note="never counted as idle", provenance=now.provenance,
        ),
    ]  # fmt: skip


def _hours(request: Request, mine: Me) -> Component:
    seen = recorded(request, mine)
    return cards.card(
        period(request),
        [
            slot("mine-figures", figure_row(figures(request, mine))),
            timeline_chart(
                request,
                seen,
                "me-timeline",
                window_of(request),
                f"me-{mine.user}",
                height=220,
                neutral=True,
                resolution=f"per {format_duration(seen.bucket_ms)}",
            )
            if mine.hours.held_gpu_h
            else None,
        ],
        id="mine",
    )


def recorded(request: Request, mine: Me) -> Timeline:
    """Returns the buckets of which there is data."""
    began = request.store.data_from_ms or 0
    rows = [row for row in mine.timeline.rows if row.end_ms > began]
    return Timeline(bucket_ms=mine.timeline.bucket_ms, rows=rows)


def period(request: Request) -> str:
    """Returns what the period is called, or since when there is data: nobody takes an empty month for an idle one."""
    began = request.store.data_from_ms
    if began is None or began <= window_of(request).start_ms:
        return f"Last {DAYS} days"
    return f"Since {format_time(began, request.zone)} ({format_duration(request.as_of_ms - began)})"


def _recent(request: Request, mine: Me) -> Component:
    noun = request.words.run
    if not mine.recent:
        return cards.card(f"Recent {noun}s", cards.empty(f"No {noun} of yours held a GPU in the last {DAYS} days."))
    return cards.card(f"Recent {noun}s", run_table(mine.recent, request.zone, noun, neutral=True), id="recent")


def title(request: Request) -> Any:
    """Returns whose page it is."""
    user = who(request)
    return "My GPUs" if user is None or user == request.viewer.user else html.Span(["GPUs of ", html.Bdi(user)])


PAGE: Final = Page(
    module="me",
    path="/me",
    name="Me",
    question="What do my GPUs do, and what should I change?",
    body=body,
    controls=controls,
    title=title,
    icon="me",
    order=20,
    live=True,
    default_range="30d",
)
