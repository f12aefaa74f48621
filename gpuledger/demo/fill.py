"""Fills a directory with a synthetic cluster and exits: same inbox, ingest, rollups and analysis as a running hub."""

from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event

import msgspec

from analytics.schedule import Job, Schedule
from analytics.settings import AnalyticsSettings
from analytics.site import SiteSettings
from gpuledger.demo.feed import Batch, feed
from gpuledger.demo.settings import DemoSettings
from store.database import Database
from store.inbox import Inbox
from store.ingest import ingest
from store.rollup import roll_up
from store.settings import StoreSettings


class Filled(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in the directory now that did not before."""

    rows: int
    segments: int


def fill(
    directory: Path,
    settings: DemoSettings,
    now_ms: int,
    store: StoreSettings,
    analytics: AnalyticsSettings,
    site: SiteSettings,
    *,
    more: Iterable[Job] = (),
    on_day: Callable[[Filled], None] = lambda _: None,
) -> Filled:
    """Fills ``directory``, a store of its own, up to ``now_ms``, and runs every job of the schedule once.

    ``more`` are jobs beside the analysis, as Schedule takes them; ``on_day`` hears of the sums after each day.

    Raises:
        StoreError: another process owns the directory, or the disk is full.
        OtherCluster: the directory holds a synthetic cluster with other settings.
    """
    filled = Filled(rows=0, segments=0)
    with Database.open(directory, synthetic=True, settings=store) as database:
        inbox = Inbox(directory / "inbox")

        def take_in(batch: Batch) -> None:
            nonlocal filled
            inbox.append_many(batch)
            added = _drain(database, inbox, now_ms, store, site.zone)
            filled = Filled(rows=filled.rows + added.rows, segments=filled.segments + added.segments)
            on_day(filled)

        try:
            _drain(database, inbox, now_ms, store, site.zone)  # what an earlier process acknowledged
            feed(take_in, settings, directory, lambda: now_ms, Event(), live=False)
        finally:
            inbox.close()
        Schedule(database, analytics, site, lambda: now_ms, states=store.states, more=more).run_all()
    return filled


def _drain(database: Database, inbox: Inbox, now_ms: int, store: StoreSettings, zone: str) -> Filled:
    rows = segments = 0
    while (taken := inbox.take()).count:
        result = ingest(database, taken.entries, now_ms)
        inbox.done(taken)
        rows, segments = rows + result.rows, segments + result.segments
    while roll_up(database, settings=store.states, zone=zone):
        pass
    return Filled(rows=rows, segments=segments)
