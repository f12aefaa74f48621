"""The findings with the most GPU-hours; what one person's runs of one name share is one line."""

from typing import Final

from analytics.queries.findings import FindingRow, findings
from analytics.reports.model import Cell, Context, Section, Table
from analytics.reports.registry import section
from analytics.wording import number_gpu_h, plural

SHOWN: Final = 10
EVERY: Final = 100_000  # a line is the sum of all that belongs to it, not of a page of them


@section(50)
def idle_findings(context: Context) -> Section | None:
    """Findings of the week."""
    page = findings(context.cur, context.viewer, context.window, context.where, limit=EVERY)
    if not page.total.count:
        return None
    lines = _merged(page.items)
    rows = tuple(_row(context, runs) for runs in lines[:SHOWN])
    shown = f", the {len(rows)} largest groups of them here" if len(lines) > SHOWN else ""
    return Section(
        title="Findings",
        paragraphs=(f"{plural(page.total.count, 'finding')}{shown}.",),
        table=Table(
            columns=("Finding", "Largest job", "User", "Account", "GPU-h"),
            rows=rows,
            numbers=frozenset({"GPU-h"}),
            total=(
                context.link("All findings", "/jobs", {"finding": "any"}),
                "",
                "",
                "",
                number_gpu_h(page.total.gpu_h),
            ),
        ),
    )


def _merged(rows: list[FindingRow]) -> list[list[FindingRow]]:
    """Groups the findings of one rule on runs of one name, array tasks and requeued runs among them."""
    groups: dict[tuple[object, ...], list[FindingRow]] = {}
    for row in rows:
        what = row.name or (row.job_id or str(row.id)).partition("_")[0]
        groups.setdefault((row.rule, row.cluster, row.user, what), []).append(row)
    return sorted(groups.values(), key=lambda runs: -sum(run.gpu_h for run in runs))


def _row(context: Context, runs: list[FindingRow]) -> tuple[Cell, ...]:
    first = runs[0]
    job = first.job_id or "—"
    title = first.title if len(runs) == 1 else f"{first.title} ({plural(len(runs), 'run')})"
    link = context.link(job, f"/jobs/{job}", whole=True) if first.job_id else job
    return (title, link, first.user or "—", first.account or "—", number_gpu_h(sum(run.gpu_h for run in runs)))
