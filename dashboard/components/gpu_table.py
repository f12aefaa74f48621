"""Each GPU of a run, as a table."""

from typing import Final

from dash import html
from dash.development.base_component import Component

from analytics.clocks import SLOWDOWNS, Slowdown
from analytics.queries.job import GpuUse, JobDetail
from analytics.queries.strips import StripPart
from analytics.wording import format_duration, format_energy, format_mib, format_pct, format_power, plural
from dashboard.components import cards
from dashboard.components.marks import coverage_badge, name, strip, unknown, value
from dashboard.components.tables import Column, table

MOST_ROWS: Final = 64
MODEL: Final = Column(title="Model", phone=False)
SLOWED: Final = Column(title="Slowed", phone=False)
COLUMNS: Final = (
    Column(title="GPU"),
    MODEL,
    Column(title="States"),
    Column(title="Idle", number=True),
    Column(title="Utilization", number=True),
    Column(title="p95", number=True, phone=False),
    Column(title="Peak memory", number=True),
    Column(title="Mean power", number=True, phone=False),
    Column(title="Energy", number=True, phone=False),
    Column(title="Longest idle", number=True, phone=False),
    SLOWED,
)


def card(run: JobDetail) -> Component:
    """Returns the GPUs of a run, most idle first where there are more than fit."""
    gpus = run.gpus
    if len(gpus) > MOST_ROWS:
        gpus = sorted(gpus, key=lambda gpu: gpu.idle_ms + gpu.idle_held_ms, reverse=True)[:MOST_ROWS]
    if not gpus:
        return cards.card("GPUs", cards.empty("No node has shown the GPUs of this run yet."), id="gpus")
    note = f"{MOST_ROWS} of {plural(len(run.gpus), 'GPU')}, most idle first." if len(gpus) < len(run.gpus) else None
    says_nothing = set()
    if len({gpu.model for gpu in gpus}) == 1:
        says_nothing.add(MODEL)  # it stands above, among the facts
    if not any(_times(gpu) for gpu in gpus):
        says_nothing.add(SLOWED)
    kept = [place for place, column in enumerate(COLUMNS) if column not in says_nothing]
    rows = [[cells[place] for place in kept] for cells in map(_row, gpus)]
    columns = [COLUMNS[place] for place in kept]
    return cards.card("GPUs", table(columns, rows, caption="The GPUs of this run"), id="gpus", note=note)


def _row(gpu: GpuUse) -> tuple[object, ...]:
    parts = [
        StripPart(state=state, ms=ms, mix={state: ms})
        for state, ms in (
            ("active", gpu.active_ms),
            ("low", gpu.low_ms),
            ("idle_held", gpu.idle_held_ms),
            ("idle", gpu.idle_ms),
            ("unknown", gpu.unknown_ms),
        )
        if ms
    ]
    memory = format_mib(gpu.mem_max_mib)
    whole = f" of {format_mib(gpu.mem_total_mib)}" if gpu.mem_total_mib and gpu.mem_max_mib is not None else ""
    return (
        html.Span([name(gpu.gpu), coverage_badge(gpu.coverage)]),
        name(gpu.model, "not known"),
        strip(parts),
        format_duration(gpu.idle_ms + gpu.idle_held_ms),
        value(format_pct(gpu.util_mean_pct), "no usable reading"),
        value(format_pct(gpu.util_p95_pct), "no usable reading"),
        html.Span([value(memory), whole], className="nowrap"),
        value(format_power(gpu.power_mean_w)),
        value(format_energy(gpu.energy_kwh, estimated=bool(gpu.energy_estimated))),
        value(format_duration(gpu.longest_idle_ms), "no footprint yet"),
        _slowed(gpu),
    )


def _times(gpu: GpuUse) -> list[tuple[Slowdown, int]]:
    times = [(slowdown, getattr(gpu, f"{slowdown.id}_ms")) for slowdown in SLOWDOWNS]
    return [(slowdown, ms) for slowdown, ms in times if ms]


def _slowed(gpu: GpuUse) -> Component:
    """What held the clocks down and for how long; the power cap is normal under load and looks so."""
    if gpu.heat_ms is None:
        return unknown("no footprint yet, or the driver does not tell")
    said = [
        html.Div(f"{slowdown.id.replace('_', ' ')} {format_duration(ms)}", className=f"nowrap{_quiet(slowdown)}")
        for slowdown, ms in _times(gpu)
    ]
    return html.Div(said or "never")


def _quiet(slowdown: Slowdown) -> str:
    return "" if slowdown.fault else " muted"
