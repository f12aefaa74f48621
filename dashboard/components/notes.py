"""The dated notes of a chart as text, beneath it."""

from dash import html
from dash.development.base_component import Component

from analytics.queries.notes import ChartNote, Notes
from analytics.wording import plural
from dashboard.components.marks import Child, moment, name


def note_list(notes: Notes, zone: str) -> Component | None:
    """Returns the notes in the order of time, nothing where there is none; those left out are counted."""
    if not notes.items:
        return None
    older = [html.Li(f"{plural(notes.left_out, 'older note')} not shown.")] if notes.left_out else []
    return html.Ul([*older, *(html.Li(_said(note, zone)) for note in notes.items)], className="chart-notes")


def _said(note: ChartNote, zone: str) -> list[Child]:
    lasts: list[Child] = [" to ", moment(note.until_ms, zone)] if note.until_ms is not None else []
    by: list[Child] = [" (", name(note.who), ")"] if note.who else []
    broken = ": hours before and after are not compared" if note.breaks else ""
    kind = f" {note.kind}: "
    from_word = [moment(note.at_ms, zone), *lasts, kind]
    return [*from_word, html.Bdi(note.text), *by, broken]
