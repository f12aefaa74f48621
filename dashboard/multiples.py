"""Small multiples of a run's measurements: one figure, one x axis, one crosshair."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

from analytics.queries.series import GpuSeries, Series
from analytics.wording import UNKNOWN, format_mib, format_pct, format_power
from dashboard.figures import layout, plain, wall
from dashboard.theme import SCHEMES, Scheme

ROW_PX: Final = 104
GAP_PX: Final = 30


@dataclasses.dataclass(frozen=True)
class Row:
    """One small multiple: a catalogue metric, drawn up to ``top`` where the scale has an end."""

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
)
METRICS: Final = tuple(row.metric for row in ROWS)


def shown_rows(series: Series) -> list[Row]:
    """Returns the rows for which at least one GPU has a reading; the others are named in words beside the chart."""
    return [row for row in ROWS if any(_has(gpu, row.metric) for gpu in series.gpus)]


def _has(gpu: GpuSeries, metric: str) -> bool:
    return any(value is not None for value in gpu.values.get(metric, ()))


def metrics_figure(
    series: Series, span: tuple[int, int], zone: str, scheme: Scheme, revision: str, *, coarse: bool = False
) -> dict[str, Any]:
    """Returns every measured metric over ``span`` (UTC ms): a thin line a GPU, the mean of all in front."""
    rows = shown_rows(series)
    tokens = SCHEMES[scheme]
    height = 40 + len(rows) * (ROW_PX + GAP_PX)
    plot = height - 40
    axes: dict[str, Any] = {}
    traces: list[dict[str, Any]] = []
    titles: list[dict[str, Any]] = []
    for index, row in enumerate(rows):
        name = "y" if index == 0 else f"y{index + 1}"
        top = 1 - (index * (ROW_PX + GAP_PX) + GAP_PX) / plot
        bottom = top - ROW_PX / plot
        axes["yaxis" if index == 0 else f"yaxis{index + 1}"] = _axis(row, series, (max(0.0, bottom), top))
        traces += _traces(row, series, name, zone, tokens.series[0], tokens.edge)
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
            margin={"l": 120, "r": 8, "t": 0, "b": 34},
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
                "nticks": 8,
                "automargin": False,
            },
            annotations=titles,
            **axes,
        ),
    }


def _axis(row: Row, series: Series, domain: tuple[float, float]) -> dict[str, Any]:
    axis: dict[str, Any] = {"domain": domain, "anchor": "x", "nticks": 3, "rangemode": "tozero", "automargin": False}
    if row.top is not None:
        axis |= {"range": [0, 105], "tickvals": [0, 50, 100], "ticktext": ["0 %", "50 %", "100 %"]}
    else:
        highest = max((value for gpu in series.gpus for value in gpu.values.get(row.metric, ()) if value), default=1.0)
        axis |= {
            "range": [0, 1.08 * highest],
            "tickvals": [0, highest / 2, highest],
            "ticktext": ["0", row.format(highest / 2), row.format(highest)],
        }
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


def _traces(row: Row, series: Series, axis: str, zone: str, strong: str, thin: str) -> list[dict[str, Any]]:
    gpus = [gpu for gpu in series.gpus if _has(gpu, row.metric)]
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [wall(at, zone) for at in gpu.at_ms],
            "y": gpu.values[row.metric],
            "yaxis": axis,
            "name": plain(gpu.gpu),
            "line": {"width": 1, "color": thin},
            "opacity": 0.55,
            "hoverinfo": "skip",
            "connectgaps": False,
        }
        for gpu in gpus
        if len(gpus) > 1
    ]
    return [*traces, _mean(row, gpus, axis, zone, strong)]


def _mean(row: Row, gpus: Sequence[GpuSeries], axis: str, zone: str, colour: str) -> dict[str, Any]:
    at_ms = sorted({at for gpu in gpus for at in gpu.at_ms})
    readings: dict[int, list[tuple[float, str]]] = {at: [] for at in at_ms}
    for gpu in gpus:
        for at, value in zip(gpu.at_ms, gpu.values[row.metric], strict=True):
            if value is not None:
                readings[at].append((value, gpu.gpu))
    means = [sum(value for value, _ in found) / len(found) if found else None for found in readings.values()]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [wall(at, zone) for at in at_ms],
        "y": means,
        "yaxis": axis,
        "name": row.title,
        "line": {"width": 2, "color": colour},
        "connectgaps": False,
        "customdata": [_spread(row, found) for found in readings.values()],
        "hovertemplate": f"{row.title} %{{customdata}}<extra></extra>",
    }


def _spread(row: Row, found: Sequence[tuple[float, str]]) -> str:
    """Says the mean and, where GPUs differ, which is lowest: that is the one to look at."""
    if not found:
        return UNKNOWN
    mean = row.format(sum(value for value, _ in found) / len(found))
    if len(found) == 1:
        return mean
    lowest, where = min(found)
    return f"{mean} (lowest {row.format(lowest)}, {plain(where, 20)})"
