"""The Overview on paper."""

from analytics.queries import findings, hours, notes, recommendations, summary, timeline
from analytics.queries.hours import By
from analytics.reports import drawing
from analytics.reports.model import Document, Section, Table
from analytics.wording import format_count, format_duration, format_gpu_h, number_gpu_h
from dashboard.documents import parts
from dashboard.pages import overview as page
from dashboard.request import Request

MOST_ROWS = 20


def document(request: Request) -> Document:
    """Returns figures, chart, where the idle hours are, what is idle now and what to change."""
    said = summary.summary(request.cur, request.viewer, request.window, request.filter)
    funnel, others = page.figures(request, said)
    return parts.document(
        request,
        f"{request.site.name}: overview",
        said.sentence,
        [
            parts.figures("The figures", [*funnel, *others]),
            _over_time(request),
            _breakdown(request, said.hours.idle_gpu_h),
            _idle_now(request),
            _changes(request),
        ],
        period=parts.period(request),
    )


def _over_time(request: Request) -> Section:
    found = timeline.over_time(request.cur, request.viewer, request.window, request.filter, page.MOST_BARS)
    dated = notes.notes(request.cur, request.window)
    return Section(
        title=f"GPU-hours by state, per {format_duration(found.bucket_ms)}",
        drawing=drawing.stacked(found, request.zone, dated.items),
        paragraphs=parts.dated(dated, request.zone),
    )


def _breakdown(request: Request, idle_gpu_h: float) -> Section:
    by: By = page.chosen_breakdown(request)
    rows = hours.breakdown(request.cur, request.viewer, request.window, request.filter, by, count=False)
    return Section(
        title="Where the idle hours are",
        table=Table(
            columns=(by.capitalize(), "GPU-h", "Idle GPU-h"),
            rows=tuple(
                (row.key or "not known", number_gpu_h(row.held_gpu_h), number_gpu_h(row.idle_gpu_h))
                for row in rows[:MOST_ROWS]
            ),
            numbers=frozenset({"GPU-h", "Idle GPU-h"}),
            total=("Together", "", number_gpu_h(idle_gpu_h)),
        ),
    )


def _idle_now(request: Request) -> Section:
    rows = findings.idle_now(request.cur, request.viewer, request.filter)
    title = "Idle right now"
    if not rows:
        return Section(title=title, paragraphs=(f"No running {request.words.run} is idle right now.",))
    columns = (request.words.run.capitalize(), "User", "GPUs", "Idle for", "Idle GPU-h")
    cells = tuple(
        (
            row.job_id,
            row.user or "not known",
            format_count(row.gpus),
            format_duration(row.idle_ms),
            number_gpu_h(row.idle_gpu_h),
        )
        for row in rows
    )
    return Section(title=title, table=Table(columns=columns, rows=cells, numbers=frozenset(columns[2:])))


def _changes(request: Request) -> Section | None:
    found = recommendations.recommendations(request.cur, request.viewer, request.window, request.filter, limit=10)
    if not found.items:
        return None
    columns = ("Change", "For", "User", "Frees a week")
    cells = tuple(
        (
            f"{row.title}: {row.current} → {row.proposed}",
            row.name or "no name",
            row.user or "not known",
            format_gpu_h(row.gpu_h_week) if row.gpu_h_week > 0 else "—",
        )
        for row in found.items
    )
    listed = f"{len(found.items)} of {format_count(found.total.count)} recommendations, most GPU-hours first."
    return Section(
        title="What to change",
        paragraphs=(listed,),
        table=Table(columns=columns, rows=cells, numbers=frozenset({"Frees a week"})),
    )
