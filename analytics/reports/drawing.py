"""Charts as inline SVG for paper: GPU-hours by state over time, and the lanes of single GPUs; never colour alone."""

from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import escape

from analytics.model import HOUR_MS, MINUTE_MS, State
from analytics.queries.lanes import Lane
from analytics.queries.notes import ChartNote
from analytics.queries.timeline import FIELDS, Timeline, TimelineRow
from analytics.reports.model import Drawing
from analytics.wording import DAY_MS, format_gpu_h, label, local, number_gpu_h

WIDTH: Final = 680
LEFT: Final = 46
LANE_LEFT: Final = 104
HEIGHT: Final = 190
LANE: Final = 18
_NEUTRAL: Final = {State.IDLE: "neutral_idle", State.IDLE_HELD: "neutral_idle_held"}
"""Idle on a person's own page: grey, so that help does not look like an alarm."""
_TICKS: Final = 7
_STEPS: Final = tuple(
    [minutes * MINUTE_MS for minutes in (1, 5, 15, 30)]
    + [hours * HOUR_MS for hours in (1, 2, 3, 4, 6, 12)]
    + [days * DAY_MS for days in (1, 2, 5, 7, 14, 28, 91)]
)
"""Distances of the marks on a time axis."""


def stacked(timeline: Timeline, zone: str, notes: Sequence[ChartNote], *, neutral: bool = False) -> Drawing | None:
    """Returns GPU-hours by state over time as stacked bars with dated notes; None where there are none."""
    totals = {state: sum(_value(row, state) for row in timeline.rows) for state in FIELDS}
    totals = {state: total for state, total in totals.items() if total > 0}
    if not totals:
        return None
    span = timeline.rows[0].start_ms, timeline.rows[-1].end_ms
    highest = max(sum(_value(row, state) for state in totals) for row in timeline.rows)
    x = _Axis(*span, LEFT, WIDTH)
    bars = [part for row in timeline.rows for part in _bar(row, list(totals), x, highest, neutral=neutral)]
    scale = [f'<text x="{LEFT - 6}" y="12" text-anchor="end">{number_gpu_h(highest)}</text>']
    scale.append(f'<text x="{LEFT - 6}" y="{HEIGHT}" text-anchor="end">0</text>')
    marks = [_mark(note, x, HEIGHT) for note in notes if span[0] <= note.at_ms <= span[1]]
    said = "; ".join(f"{label(state)} {format_gpu_h(total)}" for state, total in totals.items())
    return Drawing(
        svg=_svg([*bars, *scale, *x.ticks(zone, HEIGHT), *marks], HEIGHT + 34, said),
        summary=f"GPU-hours by state. {said}.",
        legend=tuple((_look(state, neutral=neutral), label(state), format_gpu_h(totals[state])) for state in totals),
    )


def lanes(found: Sequence[Lane], span: tuple[int, int], zone: str, summary: str) -> Drawing:
    """Returns GPU x time state lanes over ``span`` (UTC ms)."""
    x = _Axis(*span, LANE_LEFT, WIDTH)
    shapes = []
    for place, lane in enumerate(found):
        y = place * LANE
        shapes.append(f'<text x="{LANE_LEFT - 6}" y="{y + 12}" text-anchor="end">{_short(lane.gpu)}</text>')
        shapes += [
            _rect(x.at(part.start_ms), x.at(part.end_ms), y + 2, LANE - 4, part.state)
            for part in lane.stretches
            if part.end_ms > span[0] and part.start_ms < span[1]
        ]
    height = max(1, len(found)) * LANE
    present = [state for state in FIELDS if any(part.state == state for lane in found for part in lane.stretches)]
    return Drawing(
        svg=_svg([*shapes, *x.ticks(zone, height)], height + 34, summary),
        summary=summary,
        legend=tuple((state, label(state), "") for state in present),
    )


class _Axis:
    """Time from left to right."""

    def __init__(self, start_ms: int, end_ms: int, left: int, right: int) -> None:
        self._start_ms, self._end_ms = start_ms, max(end_ms, start_ms + 1)
        self._left, self._right = left, right

    def at(self, at_ms: int) -> float:
        """Returns the place of a moment, within the drawing."""
        inside = min(max(at_ms, self._start_ms), self._end_ms) - self._start_ms
        return round(self._left + (self._right - self._left) * inside / (self._end_ms - self._start_ms), 1)

    def ticks(self, zone: str, y: int) -> Iterator[str]:
        """Yields the base line and a few times beneath it."""
        yield f'<path d="M{self._left} {y}.5H{self._right}" stroke="#c4cad1" fill="none"/>'
        length = self._end_ms - self._start_ms
        step = next((step for step in _STEPS if length <= step * _TICKS), _STEPS[-1])
        form = "%-d %b" if step >= DAY_MS else "%a %H:%M"
        offset = local(self._start_ms, zone).utcoffset()
        shift = int(offset.total_seconds() * 1000) if offset else 0  # full hours and days of the zone, not of UTC
        first = -(-(self._start_ms + shift) // step) * step - shift
        for at_ms in range(first, self._end_ms, step):
            place = self.at(at_ms)
            yield f'<path d="M{place} {y}v4" stroke="#c4cad1"/>'
            yield f'<text x="{place}" y="{y + 16}">{escape(format(local(at_ms, zone), form))}</text>'


def _value(row: TimelineRow, state: str) -> float:
    return getattr(row, FIELDS[state]) or 0.0


def _bar(row: TimelineRow, states: Sequence[str], x: _Axis, highest: float, *, neutral: bool) -> Iterator[str]:
    top = float(HEIGHT)
    for state in states:
        height = (HEIGHT - 4) * _value(row, state) / highest
        if height > 0:
            top -= height
            start, end = x.at(row.start_ms), x.at(row.end_ms)
            yield _rect(start, end - min(1.0, (end - start) / 4), top, height, _look(state, neutral=neutral))


def _look(state: str, *, neutral: bool) -> str:
    return _NEUTRAL.get(State(state), state) if neutral else str(state)


def _rect(start: float, end: float, y: float, height: float, look: str) -> str:
    size = f'width="{max(0.3, end - start):.1f}" height="{height:.1f}"'
    return f'<rect x="{start:.1f}" y="{y:.1f}" {size} class="s-{look}"/>'


def _mark(note: ChartNote, x: _Axis, height: int) -> str:
    dash = "" if note.breaks else ' stroke-dasharray="2 3"'
    line = f'<path d="M{x.at(note.at_ms)} 0V{height}" stroke="#1c2126"{dash}/>'
    head = f'<path d="M{x.at(note.at_ms) - 4} 0h8l-4 6z" fill="#1c2126"/>'
    return f"<g><title>{escape(note.text)}</title>{line}{head}</g>"


def _short(name: str) -> str:
    shown = name if len(name) <= 16 else f"{name[:8]}…{name[-7:]}"
    return str(escape("".join(letter if letter.isprintable() else " " for letter in shown)))


def _svg(shapes: Sequence[str], height: int, said: str) -> str:
    head = f'<svg viewBox="0 0 {WIDTH + 2} {height}" role="img" aria-label="{escape(said)}">'
    return "".join([head, *shapes, "</svg>"])
