"""What a report is made of, before it becomes HTML, text or JSON."""

from collections.abc import Mapping
from typing import Literal, Self
from urllib.parse import quote, urlencode

import msgspec

from analytics.model import Filter, Viewer, Window
from analytics.queries.hours import Hours
from analytics.queries.site import Site
from analytics.queries.summary import Summary
from analytics.site import SiteSettings
from analytics.wording import Words
from store.database import Cursor

ScopeKind = Literal["cluster", "account", "user"]


class BadScope(ValueError):
    """A scope that is not cluster, account:A or user:U; the message is one sentence."""


class Scope(msgspec.Struct, frozen=True):
    """Whom a report is about and for."""

    kind: ScopeKind
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Returns the scope of ``cluster``, ``account:A`` or ``user:U``; raises BadScope."""
        kind, _, name = text.partition(":")
        if kind == "cluster" and not name:
            return cls("cluster")
        if kind == "account" and name:
            return cls("account", name)
        if kind == "user" and name:
            return cls("user", name)
        raise BadScope(f"The scope {text!r} is not known: it is cluster, account:NAME or user:NAME.")

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind

    def filter(self) -> Filter:
        """Returns what the named queries are asked with."""
        return Filter(
            account=self.name if self.kind == "account" else None, user=self.name if self.kind == "user" else None
        )


class Link(msgspec.Struct, frozen=True):
    """Words that lead to the rows behind them."""

    text: str
    href: str


Cell = str | Link


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of text. Columns named in ``numbers`` are right-aligned; ``bar`` gives 0-1 a row for a bar of idle hours."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: frozenset[str] = frozenset()
    bars: tuple[float | None, ...] = ()
    total: tuple[Cell, ...] = ()


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """A chart as inline SVG, with what it shows in words; ``legend`` has state, word and total of each colour in it."""

    svg: str
    summary: str
    legend: tuple[tuple[str, str, str], ...] = ()


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One part: paragraphs first, a drawing, lines to copy (or those of the request before and after), then a table."""

    title: str
    paragraphs: tuple[Cell, ...] = ()
    lines: tuple[str, ...] = ()
    before_lines: tuple[str, ...] = ()
    after_lines: tuple[str, ...] = ()
    drawing: Drawing | None = None
    table: Table | None = None


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What a section may use. ``loading`` says what is not in the figures yet, where that is much."""

    cur: Cursor
    viewer: Viewer
    scope: Scope
    window: Window
    where: Filter
    site: SiteSettings
    store: Site
    words: Words
    summary: Summary
    data_to_ms: int
    loading: str | None = None

    @property
    def hours(self) -> Hours:
        """The figures of the week."""
        return self.summary.hours

    @property
    def partial(self) -> bool:
        """Whether the week is not over."""
        return self.window.end_ms < Window.week(self.window.label, self.window.zone).end_ms

    def link(self, text: str, path: str, parameters: Mapping[str, str] | None = None, *, whole: bool = False) -> Link:
        """Returns words that lead to a page, asked for this week and scope unless ``whole``."""
        asked: dict[str, str] = {} if whole else {"range": self.window.label} | self._scoped()
        query = urlencode(asked | dict(parameters or {}), quote_via=quote)
        return Link(text, f"{self.site.url.rstrip('/')}{path}" + (f"?{query}" if query else ""))

    def _scoped(self) -> dict[str, str]:
        return {self.scope.kind: self.scope.name} if self.scope.name else {}


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A report ready to be rendered. ``figures`` are unrounded, as the API gives them.

    ``loading`` says what is not in them yet, where that is much.
    """

    scope: Scope
    week: str
    window: Window
    partial: bool
    title: str
    subject: str
    data_to_ms: int
    made_ms: int
    synthetic: bool
    sections: tuple[Section, ...]
    figures: dict[str, object]
    site: SiteSettings
    loading: str | None = None


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A page as it is printed: ``lead`` is its sentence, ``asked`` its period and filters, ``address`` where it is."""

    title: str
    lead: str
    address: str
    asked: tuple[str, ...]
    data_to_ms: int
    made_ms: int
    synthetic: bool
    sections: tuple[Section, ...]
    site: SiteSettings
