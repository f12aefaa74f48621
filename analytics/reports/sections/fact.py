"""What happened in the week, against the usual, and how much of it is known."""

from statistics import median
from typing import Final

from analytics.model import Window
from analytics.queries.comparison import NotComparable, comparison, idle_share_pct
from analytics.queries.hours import Hours, hours
from analytics.reports.model import Cell, Context, Section
from analytics.reports.registry import section
from analytics.reports.weeks import last_complete_week
from analytics.wording import format_gpu_h, format_pct, format_ratio

USUAL_WEEKS: Final = 8


@section(10)
def fact(context: Context) -> Section:
    """Headline, the usual, the coverage."""
    return Section(
        title="The week in one sentence",
        paragraphs=(
            context.link(context.summary.sentence, "/jobs", {"sort": "idle_gpu_h"}),
            *_usual(context),
            _coverage(context),
        ),
    )


def weeks_before(context: Context) -> list[Hours]:
    """Returns the hours of up to eight whole weeks before this one, the latest first."""
    start_ms = context.store.data_from_ms
    found: list[Hours] = []
    window = context.window
    while start_ms is not None and len(found) < USUAL_WEEKS:
        window = Window.week(last_complete_week(window.start_ms, window.zone), window.zone)
        if window.start_ms < start_ms:
            break
        found.append(hours(context.cur, context.viewer, window, context.where))
    return found


def _usual(context: Context) -> tuple[Cell, ...]:
    before = weeks_before(context)
    if not before:
        return ("There is no whole week before this one, so nothing to compare with yet.",)
    alike = [each for each in before if not isinstance(comparison(context.hours, each), NotComparable)]
    shares = [share for each in alike if (share := idle_share_pct(each)) is not None]
    now = idle_share_pct(context.hours)
    if not shares or now is None:
        change = comparison(context.hours, before[0])
        said = change.sentence if isinstance(change, NotComparable) else "too little was held for a percentage"
        return (f"Against the week before: {said}.",)
    last = idle_share_pct(before[0])
    idle = f"{format_pct(now)} idle (share of measured hours)"
    if context.partial:
        idle = f"So far {idle}"
    whole = "the whole week before" if context.partial else "the week before"
    week_before = f"; {whole} it was {format_pct(last)}" if last is not None else ""
    if len(shares) == 1:
        return (f"{idle}, {whole} {format_pct(shares[0])}.",)
    return (f"{idle}, usually {format_pct(median(shares))} (the median of {len(shares)} weeks){week_before}.",)


def _coverage(context: Context) -> str:
    found = context.hours
    if found.coverage is None:
        return "Nothing could be measured, so nobody's hours are called idle."
    text = f"{format_ratio(found.coverage)} of the held hours were measured"
    if found.unknown_gpu_h > 0:
        text += f"; {format_gpu_h(found.unknown_gpu_h)} are not known and count for nobody"
    return text + "."
