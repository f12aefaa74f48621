"""Three more recommendations, after the one decision."""

from analytics.reports.model import Context, Section, Table
from analytics.reports.registry import section
from analytics.reports.sections.decision import best_recommendations
from analytics.wording import number_gpu_h

SHOWN = 4


@section(40)
def recommended(context: Context) -> Section | None:
    """What else could be asked for next time."""
    more = best_recommendations(context, SHOWN)
    if not more:
        return None
    rows = tuple(
        (
            context.link(row.title, "/recommendations"),
            row.name or "—",
            row.user or "—",
            row.current,
            row.proposed,
            number_gpu_h(row.gpu_h_week) if row.gpu_h_week > 0 else "—",
        )
        for row in more
    )
    return Section(
        title="What to ask for next time",
        table=Table(
            columns=("Change", "Job name", "User", "Now", "Proposed", "GPU-h a week"),
            rows=rows,
            numbers=frozenset({"GPU-h a week"}),
        ),
    )
