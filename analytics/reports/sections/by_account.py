"""Where the idle hours were: by account on the cluster's report, by user on an account's."""

from analytics.queries.hours import By, HoursRow, breakdown
from analytics.reports.model import Cell, Context, Section, Table
from analytics.reports.registry import section
from analytics.wording import UNKNOWN, format_pct, format_ratio, number_gpu_h, share_pct

SHOWN = 12


@section(60, "cluster", "account")
def by_account(context: Context) -> Section | None:
    """GPU-hours by whom, with a total that is the report's own."""
    by: By = "account" if context.scope.kind == "cluster" else "user"
    rows = breakdown(context.cur, context.viewer, context.window, context.where, by)
    if not rows:
        return None
    total = context.hours
    lines: list[tuple[Cell, ...]] = [_line(context, by, row) for row in rows[:SHOWN]]
    idle = [row.idle_gpu_h for row in rows[:SHOWN]]
    most = max(idle, default=0.0)
    rest = rows[SHOWN:]
    if rest:
        held, quiet = sum(row.held_gpu_h for row in rest), sum(row.idle_gpu_h for row in rest)
        lines.append((f"{len(rest)} others", number_gpu_h(held), number_gpu_h(quiet), UNKNOWN, UNKNOWN))
        idle.append(quiet)
    return Section(
        title=f"Idle hours by {by}",
        table=Table(
            columns=(by.capitalize(), "GPU-h", "Idle GPU-h", "Idle", "Measured"),
            rows=tuple(lines),
            numbers=frozenset({"GPU-h", "Idle GPU-h", "Idle", "Measured"}),
            bars=tuple(each / most if most else None for each in idle),
            total=(
                context.link("Total", "/people", {"by": by}),
                number_gpu_h(total.held_gpu_h),
                number_gpu_h(total.idle_gpu_h),
                format_pct(context.summary.idle_share_pct),
                format_ratio(total.coverage),
            ),
        ),
    )


def _line(context: Context, by: By, row: HoursRow) -> tuple[Cell, ...]:
    name = row.key or "not known"
    return (
        context.link(name, "/jobs", {by: row.key}) if row.key else name,
        number_gpu_h(row.held_gpu_h),
        number_gpu_h(row.idle_gpu_h),
        format_pct(share_pct(row.idle_gpu_h, row.measured_gpu_h)),
        format_ratio(row.coverage),
    )
