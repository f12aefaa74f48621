"""The table of jobs on paper."""

from analytics.queries import jobs as queries
from analytics.queries.jobs import JobPage
from analytics.reports.model import Document, Section, Table
from analytics.wording import (
    UNKNOWN,
    format_count,
    format_duration,
    format_pct,
    format_time,
    number_gpu_h,
    plural,
    run_state,
)
from dashboard.components.job_grid import sort_of
from dashboard.documents import parts
from dashboard.pages import jobs as page
from dashboard.request import Request

MOST_ROWS = 200
NUMBERS = ("GPUs", "Elapsed", "GPU-h", "Utilization", "Idle GPU-h")


def document(request: Request) -> Document:
    """Returns the runs in the order of the address with the total of all of them; what is not listed is counted."""
    sort, descending = sort_of(request)
    found = queries.jobs(
        request.cur,
        request.viewer,
        request.window,
        request.filter,
        sort=sort,  # type: ignore[arg-type] # one of the grid's own columns
        descending=descending,
        limit=MOST_ROWS,
    )
    return parts.document(
        request,
        f"{request.site.name}: {request.words.runs}",
        page.sentence(request, found),
        [parts.figures("The figures", page.figures(found)), _table(request, found)],
        period=parts.period(request),
    )


def _table(request: Request, found: JobPage) -> Section | None:
    if not found.items:
        return None
    total, words = found.total, request.words
    columns = (words.run.capitalize(), "Name", "User", "State", "Start", *NUMBERS, "Findings")
    cells = tuple(
        (
            row.job_id,
            row.name or "no name",
            row.user or "not known",
            run_state(row.state),
            format_time(row.start_ms, request.zone),
            format_count(row.gpus),
            format_duration(row.elapsed_ms),
            number_gpu_h(row.gpu_h),
            format_pct(row.util_mean_pct),
            number_gpu_h(row.idle_gpu_h),
            ", ".join(mark.title for mark in row.findings) or UNKNOWN,
        )
        for row in found.items
    )
    foot = (f"All {format_count(total.count)}", *[""] * 6, number_gpu_h(total.gpu_h), "")
    listed = f"{format_count(len(found.items))} of {plural(total.count, words.run, words.runs)} listed."
    return Section(
        title=words.runs.capitalize(),
        paragraphs=(listed,),
        table=Table(
            columns=columns,
            rows=cells,
            numbers=frozenset(NUMBERS),
            total=(*foot, number_gpu_h(total.idle_gpu_h), ""),
        ),
    )
