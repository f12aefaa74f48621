"""The findings with the most GPU-hours; what one person's runs of one name share is one line."""

from typing import Final

from analytics.queries.finding_groups import FindingGroup, grouped
from analytics.queries.findings import findings
from analytics.reports.model import Cell, Context, Section, Table
from analytics.reports.registry import section
from analytics.wording import UNKNOWN, format_count, number_gpu_h, plural

SHOWN: Final = 10


@section(50)
def idle_findings(context: Context) -> Section | None:
    """Findings of the week."""
    page = findings(context.cur, context.viewer, context.window, context.where, limit=1)
    if not page.total.count:
        return None
    lines = grouped(context.cur, context.viewer, context.window, context.where)
    rows = tuple(_row(context, group) for group in lines[:SHOWN])
    shown = f", the {len(rows)} largest groups of them here" if len(lines) > SHOWN else ""
    return Section(
        title="Findings",
        paragraphs=(f"{plural(page.total.count, 'finding')}{shown}.",),
        table=Table(
            columns=("Finding", "Runs", "Largest job", "User", "Account", "GPU-h"),
            rows=rows,
            numbers=frozenset({"Runs", "GPU-h"}),
            total=(
                context.link("All findings", "/jobs", {"finding": "any"}),
                "",
                "",
                "",
                "",
                number_gpu_h(page.total.gpu_h),
            ),
        ),
    )


def _row(context: Context, group: FindingGroup) -> tuple[Cell, ...]:
    first = group.first
    job = first.job_id or UNKNOWN
    link = context.link(job, f"/jobs/{job}", whole=True) if first.job_id else job
    return (
        first.title,
        format_count(group.runs),
        link,
        first.user or UNKNOWN,
        first.account or UNKNOWN,
        number_gpu_h(group.gpu_h),
    )
