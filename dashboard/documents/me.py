"""A person's own page on paper."""

from analytics.queries import me as queries
from analytics.queries import notes
from analytics.queries.me import Me
from analytics.reports import drawing
from analytics.reports.model import Document, Section, Table
from analytics.wording import (
    UNKNOWN,
    format_count,
    format_duration,
    format_gpu_h,
    format_pct,
    format_time,
    number_gpu_h,
    plural,
    run_state,
)
from dashboard.documents import parts
from dashboard.pages import me as page
from dashboard.request import Request


def document(request: Request) -> Document:
    """Returns what runs, what to change, and how the last 30 days went; a word where it is nobody's page."""
    user = page.who(request)
    name = page.period(request)
    if user is None:
        return parts.document(request, "My GPUs", "Nobody has been chosen, or nobody has held a GPU.", [], period=name)
    mine = queries.me(request.cur, request.viewer, request.as_of_ms, user, request.zone)
    return parts.document(
        request,
        f"GPUs of {user}",
        mine.sentence,
        [
            _running(request, mine),
            *(parts.recommendation(row) for row in mine.recommendations[: page.MOST_CHANGES]),
            *(
                parts.finding(group.first, f"{format_gpu_h(group.gpu_h)} in {plural(group.runs, 'run')}")
                for group in mine.findings[: page.MOST_CHANGES - len(mine.recommendations)]
            ),
            parts.figures(name, page.figures(request, mine)),
            _over_time(request, mine),
            _recent(request, mine),
        ],
        period=name,
    )


def _running(request: Request, mine: Me) -> Section:
    title = "Running now"
    if not mine.running:
        return Section(title=title, paragraphs=(f"None of your {request.words.runs} holds a GPU right now.",))
    columns = (request.words.run.capitalize(), "Name", "GPUs", "What it does", "Time left")
    cells = tuple(
        (
            run.job.job_id,
            run.job.name or "no name",
            format_count(run.job.gpus),
            run.sentence,
            format_duration(run.left_ms) if run.left_ms is not None else "no time limit",
        )
        for run in mine.running
    )
    return Section(title=title, table=Table(columns=columns, rows=cells, numbers=frozenset({"GPUs"})))


def _over_time(request: Request, mine: Me) -> Section | None:
    drawn = page.recorded(request, mine)
    dated = notes.notes(request.cur, page.window_of(request))
    chart = drawing.stacked(drawn, request.zone, dated.items, neutral=True)
    if chart is None:
        return None
    title = f"GPU-hours by state, per {format_duration(drawn.bucket_ms)}"
    return Section(title=title, drawing=chart, paragraphs=parts.dated(dated, request.zone))


def _recent(request: Request, mine: Me) -> Section | None:
    if not mine.recent:
        return None
    columns = (request.words.run.capitalize(), "Name", "State", "Start", "GPU-h", "Utilization", "Findings")
    cells = tuple(
        (
            row.job_id,
            row.name or "no name",
            run_state(row.state),
            format_time(row.start_ms, request.zone),
            number_gpu_h(row.gpu_h),
            format_pct(row.util_mean_pct),
            ", ".join(mark.title for mark in row.findings) or UNKNOWN,
        )
        for row in mine.recent
    )
    table = Table(columns=columns, rows=cells, numbers=frozenset({"GPU-h", "Utilization"}))
    return Section(title=f"Recent {request.words.runs}", table=table)
