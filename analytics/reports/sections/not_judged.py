"""What could not be judged, and why: nothing is dropped silently."""

from analytics.queries.findings import unjudged
from analytics.reports.model import Context, Section, Table
from analytics.reports.registry import section
from analytics.wording import number_gpu_h

SHOWN = 8


@section(90)
def not_judged(context: Context) -> Section | None:
    """Runs on which a rule had too little evidence."""
    rows = unjudged(context.cur, context.viewer, context.window, context.where)
    if not rows:
        return None
    return Section(
        title="Could not judge",
        table=Table(
            columns=("What", "Why", context.words.runs.capitalize(), "GPU-h"),
            rows=tuple((row.title, row.reason, str(row.runs), number_gpu_h(row.gpu_h)) for row in rows[:SHOWN]),
            numbers=frozenset({context.words.runs.capitalize(), "GPU-h"}),
        ),
    )
