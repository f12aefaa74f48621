"""The words and the table behind a chart of GPU-hours over time."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from dash.development.base_component import Component

from analytics.model import HOUR_MS
from analytics.queries.timeline import FIELDS, Timeline, TimelineRow
from analytics.wording import DAY_MS, format_gpu_h, format_pct, label, local, number_gpu_h, share_pct
from dashboard.components.legend import state_totals
from dashboard.components.marks import value
from dashboard.components.tables import Column, table


def timeline_summary(timeline: Timeline) -> str:
    """Returns what the chart shows in one sentence, for those who do not see it."""
    totals = state_totals(timeline)
    if not totals:
        return "No GPU-hours in this period."
    whole = sum(totals.values())
    parts = []
    for state, total in totals.items():
        share = share_pct(total, whole)
        parts.append(f"{label(state)} {format_gpu_h(total)}" + (f" ({format_pct(share)})" if share is not None else ""))
    return f"{format_gpu_h(whole)} in all: " + "; ".join(parts) + "."


def timeline_table(timeline: Timeline, zone: str) -> Component:
    """Returns the chart as a table: a row a day, or an hour where the period is short."""
    groups = grouped(timeline.rows, timeline.bucket_ms, zone)
    shown = [state for state in FIELDS if state in state_totals(timeline)]
    rows = [
        (when, *(value(number_gpu_h(_sum(rows, FIELDS[state])), "not defined here") for state in shown))
        for when, rows in groups.items()
    ]
    total = ("Total", *(number_gpu_h(state_totals(timeline)[state]) for state in shown))
    columns = [Column(title="Start"), *(Column(title=label(state), number=True) for state in shown)]
    return table(columns, rows, caption="GPU-hours by state over time", total=total)


class Bucket(Protocol):
    """What lies over time in equal pieces."""

    @property
    def start_ms(self) -> int: ...
    @property
    def end_ms(self) -> int: ...


Row = TypeVar("Row", bound=Bucket)


def grouped(rows: Sequence[Row], bucket_ms: int, zone: str) -> dict[str, list[Row]]:
    """Returns the buckets by day of the site's zone; by hour where all lie within two days."""
    if not rows:
        return {}
    short = rows[-1].end_ms - rows[0].start_ms <= 2 * DAY_MS and bucket_ms <= HOUR_MS
    form = "%a %d %b %H:00" if short else "%a %d %b %Y"
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(local(row.start_ms, zone).strftime(form), []).append(row)
    return groups


def _sum(rows: list[TimelineRow], field: str) -> float | None:
    values = [getattr(row, field) for row in rows]
    known = [one for one in values if one is not None]
    return sum(known) if known else None
