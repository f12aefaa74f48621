"""What printed pages have in common: head and foot, figures as a table, what to change with its lines."""

from collections.abc import Sequence

from analytics.queries.findings import FindingRow
from analytics.queries.notes import Notes
from analytics.queries.recommendations import RecommendationRow
from analytics.recommendation_words import gain
from analytics.reports.model import Document, Link, Section, Table
from analytics.wording import format_time
from dashboard.components.figures import Figure
from dashboard.filters import Address
from dashboard.request import Request

NOT_ASKED = ("from", "to", "range")


def document(request: Request, title: str, lead: str, sections: Sequence[Section | None], *, period: str) -> Document:
    """Returns the document of a page; sections that are None are left out. ``period`` says which time it speaks of."""
    chosen = [f"{name.replace('_', ' ')} {value}" for name, value in request.address.params.items()]
    shown = [text for text in chosen if text.split(" ")[0] not in NOT_ASKED]
    return Document(
        title=title,
        lead=lead,
        address=link(request, request.address, "").href,
        asked=(period, *shown),
        data_to_ms=request.as_of_ms,
        made_ms=request.now_ms,
        synthetic=request.store.synthetic,
        sections=tuple(section for section in sections if section is not None),
        site=request.site,
    )


def period(request: Request) -> str:
    """Returns the window of the address in words."""
    window = request.window
    return f"{format_time(window.start_ms, window.zone)} to {format_time(window.end_ms, window.zone)} ({window.zone})"


def link(request: Request, address: Address, text: str) -> Link:
    """Returns words that lead to another page, with the site's address before it."""
    return Link(text, f"{request.site.url.rstrip('/')}{address.href}")


def figures(title: str, shown: Sequence[Figure]) -> Section:
    """Returns figures as a table: each with what stands beneath it on the page."""
    rows = tuple((one.label, one.text, one.note if isinstance(one.note, str) else "") for one in shown)
    return Section(title=title, table=Table(columns=("Figure", "Value", ""), rows=rows, numbers=frozenset({"Value"})))


def dated(notes: Notes, zone: str) -> tuple[str, ...]:
    """Returns the dated notes of a chart as sentences."""
    return tuple(f"{format_time(note.at_ms, zone)}, {note.kind}: {note.text}" for note in notes.items)


def recommendation(row: RecommendationRow) -> Section:
    """Returns one recommendation with the lines before and after."""
    rests = f"It {row.rests_on}."
    frees = f"Frees {row.freed}. " if row.gpu_h_week > 0 else ""
    whose = f"For {row.name or 'a job without a name'}."
    return Section(
        title=f"{row.title}: {row.current} → {row.proposed}",
        paragraphs=(f"{whose} {gain(row.gain)}".rstrip(), f"{frees}{rests}"),
        before_lines=tuple(row.before_lines),
        after_lines=tuple(row.after_lines),
    )


def finding(row: FindingRow, hours: str) -> Section:
    """Returns one finding with what helps; ``hours`` is what it explains."""
    advice, _, lines = row.fix.partition("\n")
    return Section(
        title=f"{row.title} ({hours}, {row.confidence} confidence)",
        paragraphs=(row.sentence, f"What helps: {advice}"),
        lines=tuple(lines.splitlines()),
    )
