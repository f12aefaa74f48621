"""The weeks before, so that a change can be told from the usual."""

from collections.abc import Iterator, Sequence

from analytics.queries.comparison import active_share_pct, idle_share_pct
from analytics.queries.hours import Hours
from analytics.queries.notes import breaks
from analytics.reports.model import Context, Section, Table
from analytics.reports.registry import section
from analytics.reports.sections.fact import weeks_before
from analytics.wording import format_pct, format_ratio, format_time, number_gpu_h


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
            rows=tuple(_lines(context, (context.hours, *before))),
            numbers=frozenset({"GPU-h", "Active", "Idle", "Idle GPU-h", "Measured"}),
        ),
    )


def _lines(context: Context, weeks: Sequence[Hours]) -> Iterator[tuple[str, ...]]:
    """The weeks, with a line of its own where the thresholds changed: those above and below it are not compared."""
    changes = breaks(context.cur, weeks[-1].provenance.window.start_ms, weeks[0].provenance.window.end_ms)
    for week in weeks:
        yield _line(week)
        window = week.provenance.window
        for at_ms in reversed(changes):
            if window.start_ms <= at_ms < window.end_ms:
                yield (f"thresholds changed on {format_time(at_ms, window.zone)}", *[""] * 5)


def _line(hours: Hours) -> tuple[str, ...]:
    return (
        hours.provenance.window.label,
        number_gpu_h(hours.held_gpu_h),
        format_pct(active_share_pct(hours)),
        format_pct(idle_share_pct(hours)),
        number_gpu_h(hours.idle_gpu_h),
        format_ratio(hours.coverage),
    )
