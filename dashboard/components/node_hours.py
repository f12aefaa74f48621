"""GPU-hours by node, or by group of nodes, with the total of all of them."""

from collections.abc import Callable, Sequence

import msgspec
from dash import html
from dash.development.base_component import Component

from analytics.queries.hours import Hours, HoursRow
from analytics.wording import format_energy, number_gpu_h
from dashboard.components import cards, tables
from dashboard.components.attributes import attributes
from dashboard.components.marks import Child, coverage_badge, value
from dashboard.request import Request

COLUMNS = (
    tables.Column(title="Allocated GPU-h", number=True),
    tables.Column(title="Active", number=True),
    tables.Column(title="Low", number=True, phone=False),
    tables.Column(title="Idle", number=True),
    tables.Column(title="Not measured", number=True, phone=False),
    tables.Column(title="Energy", number=True),
)
Place = tuple[str, Child]
"""What a node is counted under, which is also the order, and how that is shown."""


class _Line(msgspec.Struct):
    """Rows of a breakdown summed for showing; the total below the table is a query's own."""

    shown: Child
    held: float = 0.0
    active: float = 0.0
    low: float = 0.0
    idle: float = 0.0
    unknown: float = 0.0
    measurable: float = 0.0
    energy_kwh: float | None = None
    estimated: bool = False

    def add(self, row: HoursRow) -> None:
        self.held += row.held_gpu_h
        self.active += row.active_gpu_h
        self.low += row.low_gpu_h
        self.idle += row.idle_gpu_h
        self.unknown += row.unknown_gpu_h
        self.measurable += row.measured_gpu_h + row.missing_gpu_h
        if row.energy_kwh is not None:
            self.energy_kwh = (self.energy_kwh or 0.0) + row.energy_kwh
        self.estimated = self.estimated or bool(row.energy_estimated)

    @property
    def coverage(self) -> float | None:
        measured = self.held - self.unknown
        return min(1.0, measured / self.measurable) if self.measurable else None


def hours_card(
    request: Request, total: Hours, rows: Sequence[HoursRow], place: Callable[[str | None], Place], what: str
) -> Component:
    """Returns the table; ``place`` says under what a node is counted, ``what`` what a line is."""
    lines: dict[str, _Line] = {}
    for row in rows:
        key, shown = place(row.key)
        lines.setdefault(key, _Line(shown)).add(row)
    cells = [_cells(lines[key]) for key in sorted(lines)]
    capacity = [
        "Capacity ",
        _exact("capacity_gpu_h", total.capacity_gpu_h),
        f" GPU-h, {request.words.unallocated} ",
        _exact("unallocated_gpu_h", total.unallocated_gpu_h),
        " GPU-h.",
    ]
    columns = [tables.Column(title=what.capitalize()), *COLUMNS]
    return cards.card(
        f"GPU-hours by {what}",
        [
            tables.table(columns, cells, caption=f"GPU-hours by {what}", total=_total(total)),
            html.P(capacity, className="total-line"),
        ],
        id="hours-by-node",
    )


def _cells(line: _Line) -> tuple[Child, ...]:
    return (
        html.Span([line.shown, coverage_badge(line.coverage)]),
        *map(number_gpu_h, (line.held, line.active, line.low, line.idle, line.unknown)),
        value(format_energy(line.energy_kwh, estimated=line.estimated)),
    )


def _total(total: Hours) -> tuple[Child, ...]:
    names = ("held_gpu_h", "active_gpu_h", "low_gpu_h", "idle_gpu_h", "unknown_gpu_h")
    energy = html.Span(
        format_energy(total.energy_kwh, estimated=total.energy_estimated),
        **attributes(data_figure="energy_kwh", data_value="" if total.energy_kwh is None else repr(total.energy_kwh)),
    )
    return ("Total", *(_exact(name, getattr(total, name)) for name in names), energy)


def _exact(figure: str, gpu_h: float | None) -> Component:
    return html.Span(
        number_gpu_h(gpu_h), **attributes(data_figure=figure, data_value="" if gpu_h is None else repr(gpu_h))
    )
