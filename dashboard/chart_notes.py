"""Dated notes in a time chart: small markers above it with the text on hover, and a line where a trend breaks."""

from typing import Any, Final

from analytics.queries.notes import ChartNote, Notes
from analytics.wording import format_time
from dashboard.figures import plain, wall
from dashboard.theme import SCHEMES, Scheme

AXIS: Final = "9"
"""Number of the markers' own vertical axis, beyond those that charts use for measurements."""
BROKEN: Final = "thresholds changed"
_LONGEST: Final = 160


def with_notes(figure: dict[str, Any], notes: Notes, zone: str, scheme: Scheme) -> dict[str, Any]:
    """Returns the figure with its notes; without any it is returned as it is."""
    if not notes.items:
        return figure
    colour = SCHEMES[scheme].text
    layout = figure["layout"]
    breaking = [note for note in notes.items if note.breaks]
    return {
        "data": [*figure["data"], _markers(notes.items, zone, colour)],
        "layout": layout
        | {
            f"yaxis{AXIS}": {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
            "shapes": [*layout.get("shapes", []), *(_line(note, zone, colour) for note in notes.items)],
            "annotations": [*layout.get("annotations", []), *(_label(note, zone, colour) for note in breaking)],
        },
    }


def _markers(notes: list[ChartNote], zone: str, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "notes",
        "x": [wall(note.at_ms, zone) for note in notes],
        "y": [1] * len(notes),
        "yaxis": f"y{AXIS}",
        "cliponaxis": False,
        "marker": {"symbol": "triangle-down", "size": 10, "color": colour},
        "customdata": [f"{note.kind}, {format_time(note.at_ms, zone)}: {plain(note.text, _LONGEST)}" for note in notes],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _line(note: ChartNote, zone: str, colour: str) -> dict[str, Any]:
    """A dotted line at its moment, a whole one where a trend breaks, a veil over the time that it lasts."""
    at = wall(note.at_ms, zone)
    shape = {"xref": "x", "yref": "paper", "y0": 0, "y1": 1, "x0": at}
    if note.until_ms is not None:
        filled = {"type": "rect", "fillcolor": colour, "opacity": 0.08, "line": {"width": 0}, "layer": "below"}
        return shape | filled | {"x1": wall(note.until_ms, zone)}
    line = {"color": colour, "width": 2 if note.breaks else 1, "dash": "solid" if note.breaks else "dot"}
    return shape | {"type": "line", "x1": at, "line": line}


def _label(note: ChartNote, zone: str, colour: str) -> dict[str, Any]:
    return {
        "text": BROKEN,
        "x": wall(note.at_ms, zone),
        "y": 1,
        "xref": "x",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "top",
        "xshift": 6,
        "showarrow": False,
        "font": {"size": 12, "color": colour},
    }
