"""One request for a page: who asks, for what, with which cursor, drawn in which colours."""

import dataclasses
import functools

from analytics.model import Filter, Viewer, Window, stale_after_ms
from analytics.queries import site as site_queries
from analytics.queries.site import Site
from analytics.site import SiteSettings
from analytics.wording import Words, words
from dashboard.filters import Address, View, view
from dashboard.services import Services
from dashboard.theme import Scheme
from store.database import Cursor


@dataclasses.dataclass(frozen=True)
class Request:
    """Everything a page's body may read. Windows end at ``as_of_ms``, the moment the data reaches to.

    ``coarse`` is True on a touch screen, where a finger must scroll the page and not zoom a chart.
    """

    address: Address
    cur: Cursor
    services: Services
    viewer: Viewer
    now_ms: int
    scheme: Scheme
    coarse: bool
    default_range: str

    @functools.cached_property
    def store(self) -> Site:
        return site_queries.site(self.cur)

    @functools.cached_property
    def view(self) -> View:
        return view(self.address, (self.store.data_from_ms, self.as_of_ms), self.zone, self.default_range)

    @functools.cached_property
    def here(self) -> Address:
        """The address with its period said, for links to other pages: those have other defaults."""
        return self.address if self.view.span == "custom" else self.address.change(range=self.view.span)

    @property
    def site(self) -> SiteSettings:
        return self.services.site

    @property
    def zone(self) -> str:
        return self.services.site.zone

    @property
    def as_of_ms(self) -> int:
        return self.store.data_to_ms or self.now_ms

    @property
    def window(self) -> Window:
        return self.view.window

    @property
    def filter(self) -> Filter:
        return self.view.filter

    @property
    def words(self) -> Words:
        return words(self.store.kind)

    @property
    def stale_ms(self) -> int:
        return stale_after_ms(self.store.interval_ms or 60_000)

    @property
    def stale(self) -> bool:
        return self.store.data_to_ms is not None and self.now_ms - self.store.data_to_ms > self.stale_ms
