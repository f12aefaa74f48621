"""Small multiples of a run's measurements: one figure, one x axis, one crosshair."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from analytics.queries.cores import NodeCores
from analytics.queries.series import GpuSeries, Series
from analytics.wording import UNKNOWN, format_cores, format_mib, format_mib_per_s, format_pct, format_power
from dashboard import bands
from dashboard.bands import Bands
from dashboard.bucket_grid import Grid, Values, numbers
from dashboard.figures import layout, left_margin, plain, tick_formats, wall
from dashboard.theme import SCHEMES, Scheme

ROW_PX: Final = 104
GAP_PX: Final = 30
MOST_LINES: Final = 16
"""Up to this many GPUs each has its line; above, the lowest, the median and the band between percentiles."""
LOWEST_LINES: Final = 8


@dataclasses.dataclass(frozen=True)
class Row:
    """One small multiple: a catalogue metric, amounts by the second, drawn up to ``top`` where the scale has an end."""

    metric: str
    title: str
    format: Callable[[float | None], str]
    top: float | None = None


def _clock(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f} MHz"


def _degrees(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f} °C"


ROWS: Final = (
    Row("util_pct", "Utilization", format_pct, 100),
    Row("sm_active_pct", "SM activity", format_pct, 100),
    Row("tensor_active_pct", "Tensor activity", format_pct, 100),
    Row("mem_used_mib", "Memory used", format_mib),
    Row("power_w", "Power", format_power),
    Row("sm_clock_mhz", "SM clock", _clock),
    Row("temp_c", "Temperature", _degrees),
    Row("pcie_rx_mib", "PCIe, received", format_mib_per_s),
    Row("pcie_tx_mib", "PCIe, sent", format_mib_per_s),
    Row("nvlink_rx_mib", "NVLink, received", format_mib_per_s),
    Row("nvlink_tx_mib", "NVLink, sent", format_mib_per_s),
)
CORES: Final = Row("busy_cores", "CPU, busy cores", format_cores)
"""Of the run's nodes, not of its GPUs."""
METRICS: Final = (*(row.metric for row in ROWS), bands.METRIC)
BANDED: Final = "sm_clock_mhz"
"""The row above which the bands lie."""


def with_cores(series: Series, nodes: Sequence[NodeCores]) -> Series:
    """Returns the series with a line more for each node; their buckets must lie on the grid of the others."""
    lines = [
        GpuSeries(gpu_key=0, gpu=node.node, node=node.node, at_ms=node.at_ms, values={CORES.metric: node.busy_cores})
        for node in nodes
    ]
    return msgspec.structs.replace(series, gpus=[*series.gpus, *lines])


def shown_rows(series: Series) -> list[Row]:
    """Returns the rows for which at least one line has a reading; the others are named in words beside the chart."""
    return [row for row in (*ROWS, CORES) if any(_has(gpu, row.metric) for gpu in series.gpus)]


def bands_of(series: Series, zone: str) -> Bands:
    """Returns what held the clocks down, by bucket; nothing where they are not shown at all."""
    told = [gpu for gpu in series.gpus if _has(gpu, BANDED) and _has(gpu, bands.METRIC)]
    return Bands(told, Grid.of(series, zone))


def what_is_drawn(gpus: int) -> str:
    """Returns in words what the lines of a small multiple are."""
    if gpus > MOST_LINES:
        return (
            f"bold: the median of {gpus} GPUs, band: 5th to 95th percentile, thin lines: the {LOWEST_LINES} lowest; "
            f"the other {gpus - LOWEST_LINES} are not drawn one by one"
        )
    return "thin lines: each GPU, bold: their mean" if gpus > 1 else "one line a measurement"


def _has(gpu: GpuSeries, metric: str) -> bool:
    return any(value is not None for value in gpu.values.get(metric, ()))


def metrics_figure(
    series: Series,
    span: tuple[int, int],
    tops: Mapping[str, float | None],
    zone: str,
    scheme: Scheme,
    revision: str,
    *,
    coarse: bool = False,
) -> dict[str, Any]:
    """Returns every measured metric over ``span`` (UTC ms): a thin line a GPU, the mean of all in front.

    ``tops`` gives the end of a scale by metric, such as the memory that a GPU has; else the highest reading is it.
    """
    rows = shown_rows(series)
    tokens = SCHEMES[scheme]
    height = 40 + len(rows) * (ROW_PX + GAP_PX)
    plot = height - 40
    grid = Grid.of(series, zone)
    slowed = bands_of(series, zone)
    axes: dict[str, Any] = {}
    traces: list[dict[str, Any]] = []
    titles: list[dict[str, Any]] = []
    for index, row in enumerate(rows):
        name = "y" if index == 0 else f"y{index + 1}"
        top = 1 - (index * (ROW_PX + GAP_PX) + GAP_PX) / plot
        bottom = top - ROW_PX / plot
        highest = _highest(row, series, tops.get(row.metric))
        end = slowed.top if row.metric == BANDED else 1.08
        axes["yaxis" if index == 0 else f"yaxis{index + 1}"] = _axis(row, highest, end, (max(0.0, bottom), top))
        traces += _traces(row, series, name, grid, scheme)
        traces += slowed.traces(name, highest, scheme) if row.metric == BANDED else []
        titles.append(_title(row.title, top))
    return {
        "data": traces,
        "layout": layout(
            scheme,
            revision,
            height=height,
            coarse=coarse,
            hovermode="x unified",
            hoversubplots="axis",
            barmode="overlay",
            margin={"l": left_margin(coarse=coarse), "r": 8, "t": 0, "b": 34},
            xaxis={
                "type": "date",
                "range": [wall(span[0], zone), wall(span[1], zone)],
                "anchor": "y" if len(rows) <= 1 else f"y{len(rows)}",
                "hoverformat": "%a %-d %b %H:%M",
                "showspikes": True,
                "spikemode": "across",
                "spikethickness": 1,
                "spikedash": "solid",
                "spikecolor": tokens.edge,
                "nticks": 4 if coarse else 8,
                "tickangle": 0,
                "tickformatstops": tick_formats(),
                "automargin": False,
            },
            annotations=titles,
            **axes,
        ),
    }


def _highest(row: Row, series: Series, top: float | None) -> float:
    values = (value for gpu in series.gpus for value in gpu.values.get(row.metric, ()) if value)
    return top or max(values, default=1.0)


def _axis(row: Row, highest: float, end: float, domain: tuple[float, float]) -> dict[str, Any]:
    """``end`` is where the scale ends, as a multiple of the highest value."""
    axis: dict[str, Any] = {
        "domain": domain,
        "anchor": "x",
        "nticks": 3,
        "rangemode": "tozero",
        "automargin": False,
        "ticklabelstandoff": 8,
    }
    if row.top is not None:
        axis |= {"range": [0, 105], "tickvals": [0, 50, 100], "ticktext": ["0 %", "50 %", "100 %"]}
    else:
        # Of small numbers two ticks may read the same: the lower one is left out then, and what reads as nothing.
        ticks = {row.format(value): value for value in (0, highest / 2, highest)}
        ticks = {"0": 0} | {text: value for text, value in ticks.items() if text != row.format(0)}
        axis |= {"range": [0, end * highest], "tickvals": [*ticks.values()], "ticktext": [*ticks]}
    return axis | {"fixedrange": True}


def _title(text: str, top: float) -> dict[str, Any]:
    return {
        "text": f"<b>{text}</b>",
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": top,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "yshift": 2,
    }


def _traces(row: Row, series: Series, axis: str, grid: Grid, scheme: Scheme) -> list[dict[str, Any]]:
    gpus = [gpu for gpu in series.gpus if _has(gpu, row.metric)]
    tokens = SCHEMES[scheme]
    table = grid.table(gpus, row.metric)
    drawn = list(range(len(gpus)))
    traces: list[dict[str, Any]] = []
    if len(gpus) > MOST_LINES:
        # The lowest are the ones to look at; the others are shown as what lies between their percentiles.
        drawn = [int(index) for index in np.argsort(grid.means(table))[:LOWEST_LINES]]
        low, high = grid.percentiles(table, (5, 95))
        traces += [
            _line(low, axis, grid, {"width": 0, "color": tokens.edge}),
            _line(high, axis, grid, {"width": 0, "color": tokens.edge}, fill="tonexty", fillcolor=f"{tokens.edge}33"),
        ]
    if len(gpus) > 1:
        thin = {"width": 1, "color": tokens.edge}
        traces += [_line(table[index], axis, grid, thin, name=plain(gpus[index].gpu), opacity=0.55) for index in drawn]
    return [*traces, _middle(row, gpus, table, axis, grid, tokens.series[0])]


def _line(values: Values, axis: str, grid: Grid, line: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        **grid.x,
        "y": numbers(values),
        "yaxis": axis,
        "line": line,
        "hoverinfo": "skip",
        "connectgaps": False,
        **more,
    }


def _middle(row: Row, gpus: Sequence[GpuSeries], table: Values, axis: str, grid: Grid, colour: str) -> dict[str, Any]:
    """The bold line: the mean, of many GPUs the median; its hover names the lowest GPU, the one to look at."""
    many = len(gpus) > MOST_LINES
    middle = grid.percentiles(table, (50,))[0] if many else grid.mean(table)
    return {
        **_line(middle, axis, grid, {"width": 2, "color": colour}),
        "name": row.title,
        "hoverinfo": "all",
        "customdata": grid.said(middle, table, [plain(gpu.gpu, 20) for gpu in gpus], row.format),
        "hovertemplate": f"{row.title} %{{customdata}}<extra></extra>",
    }
