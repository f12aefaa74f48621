"""How GPU-hours spread: a histogram and a map made of links. A click narrows the page, and so does the keyboard."""

import math
from collections.abc import Sequence
from typing import Final

from dash import html
from dash.development.base_component import Component

from analytics.queries.shapes import Cell, Histogram
from analytics.wording import format_gpu_h, number_gpu_h, plural
from dashboard.components.attributes import attributes
from dashboard.filters import Address

BINS: Final = tuple(range(0, 100, 10))


def histogram(found: Histogram, address: Address, nouns: tuple[str, str]) -> Component:
    """Returns GPU-hours by mean utilization in ten bars; ``nouns`` are one run and several."""
    highest = max((one.gpu_h for one in found.bins), default=0.0) or 1.0
    bars = [
        html.Li(
            html.A(
                [
                    html.Span(number_gpu_h(one.gpu_h) if one.gpu_h else "", className="column-value"),
                    html.I(style={"height": f"{100 * one.gpu_h / highest:.2f}%"}, className="column-fill"),
                    html.Span(str(one.from_pct), className="column-label"),
                ],
                href=address.change(min_util_pct=one.from_pct, max_util_pct=one.to_pct).href,
                title=f"{one.from_pct}-{one.to_pct} %: {format_gpu_h(one.gpu_h)}, {plural(one.runs, *nouns)}",
                **attributes(
                    aria_label=f"{one.from_pct} to {one.to_pct} % utilization: {format_gpu_h(one.gpu_h)}, "
                    f"{plural(one.runs, *nouns)}. Show only these"
                ),
            )
        )
        for one in found.bins
    ]
    unknown = (
        f"Without any reading: {format_gpu_h(found.unknown_gpu_h)} in {plural(found.unknown_runs, *nouns)}. "
        if found.unknown_runs
        else ""
    )
    return html.Figure(
        [
            html.Ul(bars, className="column-chart"),
            html.Figcaption(f"{unknown}Mean utilization in %, GPU-hours per bar.", className="chart-summary"),
        ],
        className="chart",
    )


def utilization_map(cells: Sequence[Cell], address: Address, nouns: tuple[str, str]) -> Component:
    """Returns size (GPU-hours, three steps a decade) against mean utilization; darker means more GPU-hours."""
    sizes = sorted({cell.from_gpu_h for cell in cells}, reverse=True)
    highest = max((cell.gpu_h for cell in cells), default=0.0) or 1.0
    at = {(cell.from_gpu_h, cell.from_pct): cell for cell in cells}
    rows = [
        html.Tr(
            [
                html.Th(_size(size), scope="row"),
                *(html.Td(_cell(at.get((size, pct)), address, nouns, highest)) for pct in BINS),
            ]
        )
        for size in sizes
    ]
    return html.Figure(
        [
            html.Table(
                [
                    html.Caption("GPU-hours of a run against its mean utilization", className="visually-hidden"),
                    html.Tbody(rows),
                    html.Tfoot(html.Tr([html.Td("GPU-h"), *(html.Th(str(pct), scope="col") for pct in BINS)])),
                ],
                className="map",
            ),
            html.Figcaption(
                "Mean utilization in % to the right, GPU-hours of a run upwards.", className="chart-summary"
            ),
        ],
        className="chart",
    )


def _size(gpu_h: float) -> str:
    if gpu_h == 0:
        return "less"
    return f"{gpu_h:,.0f}" if gpu_h >= 3 else f"{gpu_h:.2g}"


def _cell(cell: Cell | None, address: Address, nouns: tuple[str, str], highest: float) -> Component | None:
    if cell is None:
        return None
    said = (
        f"{cell.from_pct}-{cell.to_pct} %, {cell.from_gpu_h:,.3g}-{cell.to_gpu_h:,.3g} GPU-h each: "
        f"{plural(cell.runs, *nouns)}, {format_gpu_h(cell.gpu_h)}, of it idle {format_gpu_h(cell.idle_gpu_h)}"
    )
    target = address.change(
        min_util_pct=cell.from_pct,
        max_util_pct=cell.to_pct,
        min_gpu_h=f"{cell.from_gpu_h:.6g}",
        max_gpu_h=f"{cell.to_gpu_h:.6g}",
    )
    strength = 0.12 + 0.88 * math.sqrt(cell.gpu_h / highest)
    return html.A(
        html.I(style={"opacity": f"{strength:.2f}"}),
        href=target.href,
        title=said,
        **attributes(aria_label=f"{said}. Show only these"),
    )
