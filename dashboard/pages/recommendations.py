"""Recommendations: what to change, and what does it give?"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from analytics.queries import recommendations as queries
from analytics.queries.recommendations import RecommendationPage, RecommendationRow, RecommendationTotals
from analytics.wording import format_gpu_h, plural
from dashboard.components import cards
from dashboard.components.attributes import attributes
from dashboard.components.controls import time_range
from dashboard.components.findings import recommendation
from dashboard.components.marks import name
from dashboard.components.pages import page_links, page_offset
from dashboard.page import Page
from dashboard.request import Request

PER_PAGE: Final = 20


def body(request: Request) -> Sequence[Any]:
    """Returns recommendations, most GPU-hours a week first, and what still lacks evidence."""
    region = partial(cards.region, now_ms=request.now_ms, zone=request.zone)
    found = cards.once(
        lambda: queries.recommendations(
            request.cur, request.viewer, request.window, request.filter, limit=PER_PAGE, offset=page_offset(request)
        )
    )
    return [
        region("sentence", "The summary", lambda: _sentence(found())),
        region("list", "The recommendations", lambda: _list(request, found())),
        region("missing", "What lacks evidence", lambda: _missing(request)),
    ]


def _sentence(page: RecommendationPage) -> Component:
    total = page.total
    if not total.count:
        text = "No recommendation yet: each needs at least 5 comparable finished runs from 3 submissions."
    else:
        text = said(total)
    return html.P(
        text,
        className="sentence",
        id="sentence",
        **attributes(data_figure="gpu_h_week", data_value=repr(total.gpu_h_week)),
    )


def said(total: RecommendationTotals) -> str:
    """Returns the headline: how many free GPU-hours, and what the others ask for."""
    less = total.count - total.freeing - total.more_cores
    if not total.freeing:
        return _freeing_none(less, total.more_cores)
    freed = f"{plural(total.freeing, 'recommendation')} would free {format_gpu_h(total.gpu_h_week)} a week on average"
    asks = "asks" if total.more_cores == 1 else "ask"
    if less:
        only = f"; {less} more only {'asks' if less == 1 else 'ask'} for less"
        return f"{freed}{only}, {total.more_cores} for more CPUs." if total.more_cores else f"{freed}{only}."
    return f"{freed}; {total.more_cores} more {asks} for more CPUs." if total.more_cores else f"{freed}."


def _freeing_none(less: int, more_cores: int) -> str:
    none = "no GPU-hours are freed by it."
    if not less:
        return f"{plural(more_cores, 'recommendation')} to ask for more CPUs; {none}"
    cores = f", {more_cores} for more CPUs" if more_cores else ""
    return f"{plural(less, 'recommendation')} to ask for less of what was not used{cores}; {none}"


def _list(request: Request, page: RecommendationPage) -> Component | None:
    if not page.items:
        return None
    shown = [recommendation(row, with_user=True) for row in page.items]
    return cards.card(
        "What to change",
        [*shown, page_links(request, PER_PAGE, page.total.count, page.next)],
        id="recommendations",
    )


def _missing(request: Request) -> Component | None:
    page = queries.recommendations(
        request.cur, request.viewer, request.window, request.filter, limit=200, with_missing=True
    )
    lacking = [row for row in page.items if row.missing]
    if not lacking:
        return None
    return cards.card(
        "Not enough runs yet",
        html.Details(
            [
                html.Summary(f"{plural(page.total.missing_evidence, 'family', 'families')} of jobs", className="fold"),
                html.Ul([html.Li(_lack(row)) for row in lacking[:50]], className="plain-list"),
            ]
        ),
        id="missing",
    )


def _lack(row: RecommendationRow) -> list[Any]:
    return [name(row.name, "no name"), " by ", name(row.user), f": {row.missing}"]


PAGE: Final = Page(
    module="recommendations",
    path="/recommendations",
    name="Recommendations",
    question="What to change, and what does it give?",
    body=body,
    controls=lambda request: [time_range(request)],
    icon="recommendations",
    group="Improve",
    order=50,
    default_range="14d",
)
