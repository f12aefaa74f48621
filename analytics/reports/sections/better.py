"""What got better since the week before, and whose change it was."""

from typing import Final

from analytics.model import Window
from analytics.queries.comparison import Change, comparison
from analytics.queries.hours import By, HoursRow, breakdown, hours
from analytics.reports.model import Context, Section
from analytics.reports.registry import section
from analytics.reports.weeks import last_complete_week
from analytics.wording import format_gpu_h, format_pct, share_pct

MIN_GPU_H: Final = 50.0
MIN_STEP_PCT: Final = 10.0
SHOWN: Final = 3


@section(30)
def better(context: Context) -> Section | None:
    """Those whose idle share fell; None where the weeks cannot be compared or nobody's fell by much."""
    window = Window.week(last_complete_week(context.window.start_ms, context.window.zone), context.window.zone)
    if context.store.data_from_ms is None or window.start_ms < context.store.data_from_ms:
        return None
    before = hours(context.cur, context.viewer, window, context.where)
    if not isinstance(comparison(context.hours, before), Change):
        return None
    by: By = "user"
    old = {row.key: row for row in breakdown(context.cur, context.viewer, window, context.where, by)}
    new = breakdown(context.cur, context.viewer, context.window, context.where, by)
    steps = [(step, row, old[row.key]) for row in new if row.key in old and (step := _step(row, old[row.key]))]
    if not steps:
        return None
    steps.sort(key=lambda item: -item[0])
    return Section(title="What got better", paragraphs=tuple(_said(row, was) for _, row, was in steps[:SHOWN]))


def _step(now: HoursRow, was: HoursRow) -> float | None:
    if min(now.measured_gpu_h, was.measured_gpu_h) < MIN_GPU_H:
        return None
    new, old = share_pct(now.idle_gpu_h, now.measured_gpu_h), share_pct(was.idle_gpu_h, was.measured_gpu_h)
    return old - new if old is not None and new is not None and old - new >= MIN_STEP_PCT else None


def _said(now: HoursRow, was: HoursRow) -> str:
    new, old = share_pct(now.idle_gpu_h, now.measured_gpu_h), share_pct(was.idle_gpu_h, was.measured_gpu_h)
    return f"{now.key}: {format_pct(old)} -> {format_pct(new)} idle, on {format_gpu_h(now.held_gpu_h)}."
