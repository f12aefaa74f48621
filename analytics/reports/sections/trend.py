"""The weeks before, so that a change can be told from the usual."""

from analytics.queries.comparison import active_share_pct, idle_share_pct
from analytics.queries.hours import Hours
from analytics.reports.model import Context, Section, Table
from analytics.reports.registry import section
from analytics.reports.sections.fact import weeks_before
from analytics.wording import format_pct, format_ratio, number_gpu_h


@section(80)
def trend(context: Context) -> Section | None:
    """A line a week, the latest first; None where there is no week to compare with."""
    before = weeks_before(context)
    if not before:
        return None
    return Section(
        title="The weeks before",
        table=Table(
            columns=("Week", "GPU-h", "Active", "Idle", "Idle GPU-h", "Measured"),
            rows=tuple(_line(each) for each in (context.hours, *before)),
            numbers=frozenset({"GPU-h", "Active", "Idle", "Idle GPU-h", "Measured"}),
        ),
    )


def _line(hours: Hours) -> tuple[str, ...]:
    return (
        hours.provenance.window.label,
        number_gpu_h(hours.held_gpu_h),
        format_pct(active_share_pct(hours)),
        format_pct(idle_share_pct(hours)),
        number_gpu_h(hours.idle_gpu_h),
        format_ratio(hours.coverage),
    )
