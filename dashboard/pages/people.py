"""People: where do the hours go, and is it improving?"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Literal

from dash import html
from dash.development.base_component import Component

from analytics.queries import hours
from analytics.queries import people as queries
from analytics.queries.choices import choices
from analytics.queries.days import days
from analytics.queries.notes import breaks
from analytics.queries.people import PersonRow
from analytics.wording import format_count, format_energy, format_gpu_h, format_pct, number_gpu_h, plural, share_pct
from dashboard.components import cards, tables
from dashboard.components.attributes import attributes
from dashboard.components.controls import filter_bar, links, select, time_range
from dashboard.components.links import filter_link
from dashboard.components.marks import coverage_badge, sparkline, value
from dashboard.page import Page
from dashboard.request import Request

TABS: Final[dict[str, str]] = {"user": "Users", "account": "Accounts"}
MOST_ROWS: Final = 200
LITTLE: Final = "less than 50 GPU-hours: too little to say"


def body(request: Request) -> Sequence[Any]:
    """Returns users or accounts by GPU-hours, with a total row."""
    by: Literal["user", "account"] = "account" if request.address.get("by") == "account" else "user"
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    rows = cards.once(lambda: queries.people(request.cur, request.viewer, request.window, request.filter, by))
    return [
        region("sentence", "The summary", lambda: _sentence(request, rows(), by)),
        region("table", "The table", lambda: _table(request, rows(), by)),
    ]


def _sentence(request: Request, rows: list[PersonRow], by: str) -> Component:
    whole = sum(row.held_gpu_h for row in rows)
    if not rows:
        return html.P("Nobody held a GPU in this period.", className="sentence", id="sentence")
    noun = ("person", "people") if by == "user" else ("account", "accounts")
    half, count = 0.0, 0
    for row in sorted(rows, key=lambda one: -one.held_gpu_h):
        if half >= whole / 2:
            break
        half, count = half + row.held_gpu_h, count + 1
    return html.P(
        f"{plural(len(rows), *noun)}{_scope(request)} held {format_gpu_h(whole)}; "
        f"half of it went to {plural(count, *noun)}.",
        className="sentence",
        id="sentence",
    )


def _scope(request: Request) -> str:
    """Returns whose hours are counted where that is not everybody's: `` of account vision on partition a100``."""
    words = {"account": "of account", "partition": "on partition", "model": "on", "user": "by the name of"}
    chosen = ((words[key], getattr(request.filter, key)) for key in words)
    return "".join(f" {word} {value}" for word, value in chosen if value)


def _table(request: Request, rows: list[PersonRow], by: str) -> Component:
    total = hours.total(request.cur, request.viewer, request.window, request.filter, count=False)
    columns = [
        tables.Column(title="User" if by == "user" else "Account"),
        tables.Column(title="GPU-h", number=True),
        tables.Column(title="Active", number=True),
        tables.Column(title="Low", number=True, phone=False),
        tables.Column(title="Idle", number=True),
        tables.Column(title="Idle GPU-h", number=True),
        tables.Column(title=request.words.runs.capitalize(), number=True, phone=False),
        tables.Column(title="Findings", number=True, phone=False),
        tables.Column(title="Energy", number=True, phone=False),
        tables.Column(title="Idle GPU-h by day", phone=False),
    ]
    shown = rows[:MOST_ROWS]
    broken = _broken(request)
    # One scale for all: on scales of their own somebody's minutes would look like another's weeks.
    highest = max((day for row in shown for day in row.daily_idle_gpu_h), default=0.0)
    foot = (
        f"Total of {format_count(len(rows))}",
        _exact("held_gpu_h", total.held_gpu_h),
        *(
            _share(share_pct(part, total.measured_gpu_h), little=False)
            for part in (total.active_gpu_h, total.low_gpu_h, total.idle_gpu_h)
        ),
        _exact("idle_gpu_h", total.idle_gpu_h),
        format_count(sum(row.runs for row in rows)),
        format_count(sum(row.findings for row in rows)),
        value(format_energy(total.energy_kwh, estimated=total.energy_estimated)),
        "",
    )
    note = (
        f"The {MOST_ROWS} with the most GPU-hours of {format_count(len(rows))} are shown; the total is of all."
        if len(rows) > MOST_ROWS
        else None
    )
    return cards.card(
        TABS[by],
        tables.table(
            columns,
            [_row(request, row, by, highest, broken) for row in shown],
            caption=f"GPU-hours by {by}",
            total=foot,
        ),
        id="people",
        aside=links(request.address, "by", TABS, by, "Show"),
        note=note,
    )


def _exact(figure: str, gpu_h: float) -> Component:
    return html.Span(number_gpu_h(gpu_h), **attributes(data_figure=figure, data_value=repr(gpu_h)))


def _findings(row: PersonRow) -> str:
    """No findings is good news only of runs that were judged."""
    return format_count(row.findings) if row.findings or not row.to_judge else f"{format_count(row.to_judge)} to judge"


def _broken(request: Request) -> set[int]:
    """The places of the days in which the thresholds of the states changed: no trend goes across them."""
    changed = breaks(request.cur, request.window.start_ms, request.window.end_ms)
    table = days(request.window)
    return {place for place, day in enumerate(table) for at_ms in changed if day.start_ms <= at_ms < day.end_ms}


def _row(request: Request, row: PersonRow, by: str, highest: float, broken: set[int]) -> Sequence[Any]:
    faint = "muted" if row.little else ""
    who = filter_link(request.here.change(by=None), "/", by, row.key, "owner not known yet: accounting has not told")
    runs = filter_link(request.here.change(by=None), "/jobs", by, row.key, "", text=format_count(row.runs))
    return (
        html.Span([who, coverage_badge(row.coverage)], className=faint, title=LITTLE if row.little else None),
        number_gpu_h(row.held_gpu_h),
        *(_share(one, little=row.little) for one in (row.active_share_pct, row.low_share_pct, row.idle_share_pct)),
        number_gpu_h(row.idle_gpu_h),
        runs,
        _findings(row),
        value(format_energy(row.energy_kwh)),
        sparkline(row.daily_idle_gpu_h, "idle GPU-hours by day", highest, broken),
    )


def _share(share_pct: float | None, *, little: bool) -> Component | str:
    shown = value(format_pct(share_pct), "less than 10 GPU-hours: no percentage")
    return html.Span(shown, className="muted", title=LITTLE) if little else html.Span(shown)


def _controls(request: Request) -> Sequence[Any]:
    offered = choices(request.cur, request.viewer, request.window)
    return [
        time_range(request),
        filter_bar(
            request,
            [
                select(request, "account", "Account", offered.accounts),
                select(request, "partition", "Partition", offered.partitions),
                select(request, "model", "GPU model", offered.models),
            ],
        ),
    ]


PAGE: Final = Page(
    module="people",
    path="/people",
    name="People",
    question="Where do the hours go, and is it improving?",
    body=body,
    controls=_controls,
    icon="people",
    order=40,
    default_range="30d",
)
