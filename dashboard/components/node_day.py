"""A node's last 24 hours: each GPU's lane by state and, beneath it, the runs that held it as links."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from dash import html
from dash.development.base_component import Component

from analytics.queries.node import GpuDay, Holder, NodeDetail, Stretch
from analytics.queries.stretches import thin
from analytics.wording import STATES, format_duration, format_time, label, local, plural
from dashboard.components.attributes import attributes
from dashboard.components.marks import Child, name, state_label
from dashboard.filters import job_path

MOST_GPUS: Final = 16
MOST_BARS: Final = 800
MOST_HOLDERS: Final = 60
"""Runs drawn beneath one GPU, the longest; the others are counted."""
TICK_HOURS: Final = 4


def legend(detail: NodeDetail) -> Component:
    """Returns the states that occur in the day."""
    present = {part.state for day in detail.gpus for part in day.stretches}
    return html.Ul([html.Li(state_label(state)) for state in STATES if state in present], className="legend")


def day_lanes(detail: NodeDetail, zone: str) -> Component:
    """Returns at most MOST_GPUS lanes, the most idle GPUs where there are more, and what is not drawn as words."""
    drawn = sorted(detail.gpus, key=_idle_ms, reverse=True)[:MOST_GPUS] if len(detail.gpus) > MOST_GPUS else detail.gpus
    merged_below_ms, lanes = thin([day.stretches for day in drawn], MOST_BARS)
    span = detail.start_ms, detail.end_ms
    rows = [
        html.Li(
            [
                html.Div(gpu_name(day), className="day-gpu"),
                html.Div(
                    [
                        html.Div([_part(part, span, zone) for part in lane], className="day-lane"),
                        html.Ul(list(_holders(day.holders, detail, zone)), className="day-holders"),
                    ]
                ),
            ],
            className="day-row",
        )
        for day, lane in zip(drawn, lanes, strict=True)
    ]
    return html.Div(
        [
            html.Ul(rows, className="day-rows"),
            html.Div([html.Div(), html.Div(list(_ticks(span, zone)), className="day-axis")], className="day-row"),
            html.P(_words(detail, len(drawn), merged_below_ms), className="chart-summary"),
        ],
        className="day",
    )


def gpu_name(day: GpuDay) -> str:
    """Returns ``GPU 3``, or the start of its UUID where it has no index."""
    return f"GPU {day.gpu.index}" if day.gpu.index is not None else day.gpu.uuid[:12]


def _idle_ms(day: GpuDay) -> int:
    return sum(part.end_ms - part.start_ms for part in day.stretches if part.state in ("idle", "idle_held"))


def _part(part: Stretch, span: tuple[int, int], zone: str) -> Component:
    start, end = max(part.start_ms, span[0]), min(part.end_ms, span[1])
    said = f"{label(part.state)} for {format_duration(end - start)}, {_between(start, end, zone)}"
    return html.I(className=f"state-{part.state}", style={"flexGrow": max(0, end - start)}, title=said)


def _holders(holders: Sequence[Holder], detail: NodeDetail, zone: str) -> Iterator[Component]:
    span = detail.start_ms, detail.end_ms
    longest = sorted(holders, key=lambda one: _end(one, span) - one.start_ms, reverse=True)[:MOST_HOLDERS]
    for holder in sorted(longest, key=lambda one: one.start_ms):
        start, end = max(holder.start_ms, span[0]), min(_end(holder, span), span[1])
        whole = span[1] - span[0]
        until = format_time(holder.end_ms, zone) if holder.end_ms is not None else "now"
        who = holder.user or "a user not known yet"
        said = f"{holder.job_id} of {who}, {format_time(holder.start_ms, zone)} to {until}"
        left, width = 100 * (start - span[0]) / whole, 100 * max(0, end - start) / whole
        yield html.Li(
            html.A(
                html.Bdi(f"{holder.job_id} {holder.user or ''}"),
                href=job_path(holder.job_id, detail.node.cluster),
                title=said,
                **attributes(aria_label=said),
            ),
            style={"left": f"{left:.2f}%", "width": f"{width:.2f}%"},
        )


def _end(holder: Holder, span: tuple[int, int]) -> int:
    return holder.end_ms if holder.end_ms is not None else span[1]


def _between(start_ms: int, end_ms: int, zone: str) -> str:
    return f"{local(start_ms, zone):%a %H:%M}-{local(end_ms, zone):%H:%M}"


def _ticks(span: tuple[int, int], zone: str) -> Iterator[Component]:
    """The zone's full hours, a few of them."""
    at = local(span[0], zone).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    while (at_ms := int(at.timestamp() * 1000)) < span[1]:
        if at.hour % TICK_HOURS == 0:
            place = 100 * (at_ms - span[0]) / (span[1] - span[0])
            text = f"{at:%a} {at:%H:%M}" if at.hour == 0 else f"{at:%H:%M}"
            yield html.Span(text, style={"left": f"{place:.2f}%"})
        at += timedelta(hours=1)


def _words(detail: NodeDetail, drawn: int, merged_below_ms: int) -> str:
    said = [f"States of {plural(drawn, 'GPU')} over 24 hours, beneath each who held it"]
    if drawn < len(detail.gpus):
        said.append(f"the {drawn} most idle of {len(detail.gpus)} are drawn")
    if merged_below_ms:
        said.append(f"stretches under {format_duration(merged_below_ms)} are merged into their neighbours")
    crowded = sum(max(0, len(day.holders) - MOST_HOLDERS) for day in detail.gpus)
    if crowded:
        said.append(f"{plural(crowded, 'short hold')} not drawn")
    return "; ".join(said) + ". The table below has each GPU."


def holder_list(holders: Sequence[Holder], cluster: str, most: int) -> Child:
    """Returns who holds or held a GPU as a list of links, the first ``most``; the others are counted."""
    if not holders:
        return html.Span("nobody", className="muted")
    shown = [
        html.Li(
            [
                html.A(name(one.job_id), href=job_path(one.job_id, cluster), className="strong-link tabular"),
                " ",
                name(one.user, "user not known yet"),
            ]
        )
        for one in holders[:most]
    ]
    if len(holders) > most:
        shown.append(html.Li(f"and {len(holders) - most} more", className="muted"))
    return html.Ul(shown, className="plain-list")
