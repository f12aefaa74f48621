"""GPU-hours of accounts by day beside Slurm's own count: how many agree, and why the others do not."""

from collections.abc import Sequence
from typing import Final

from dash import html
from dash.development.base_component import Component

from analytics.queries.slurm_usage import AccountDay
from analytics.wording import local, number_gpu_h, plural
from dashboard.components import cards, tables
from dashboard.components.marks import name, value

MOST_ROWS: Final = 30


def slurm_count(days: Sequence[AccountDay]) -> Component | None:
    """Returns what agrees in one line and what differs as a table, the newest first; None where Slurm tells nothing."""
    if not days:
        return None
    differ = [day for day in days if not day.agrees]
    rolled = sum(day.sreport_gpu_h is not None for day in days)
    agree = f"{len(days) - len(differ)} of {plural(len(days), 'account and day', 'accounts and days')} agree"
    line = f"{agree}; sreport has {rolled} of them, of the others accounting is compared. Days are those of UTC."
    columns = [
        tables.Column(title="Day"),
        tables.Column(title="Account"),
        tables.Column(title="sreport", number=True),
        tables.Column(title="Accounting", number=True),
        tables.Column(title="Here", number=True),
        tables.Column(title="Why"),
    ]
    rows = [
        (
            f"{local(day.day_ms, 'UTC'):%a %-d %b}",
            name(day.account),
            value(number_gpu_h(day.sreport_gpu_h), "Slurm has not rolled the day up, or sreport is not asked"),
            number_gpu_h(day.slurm_gpu_h),
            number_gpu_h(day.our_gpu_h),
            day.why,
        )
        for day in differ[:MOST_ROWS]
    ]
    more = f"{MOST_ROWS} of {len(differ)} that differ are listed." if len(differ) > MOST_ROWS else None
    table = tables.table(columns, rows, caption="GPU-hours of accounts that Slurm counts otherwise") if rows else None
    return cards.card("Slurm's own count", [html.P(line, className="total-line"), table], id="slurm-count", note=more)
