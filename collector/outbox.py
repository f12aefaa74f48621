"""Where closed segments go: encoded into the spool, and the delivery told."""

import logging

from collector.deliver import Delivery
from collector.spool import Spool
from store.segment import Event, Segment, encode

log = logging.getLogger(__name__)


class Outbox:
    """The spool with its delivery."""

    def __init__(self, spool: Spool, delivery: Delivery) -> None:
        self._spool = spool
        self._delivery = delivery
        self._problem = ""

    def ship(self, segment: Segment) -> tuple[Event, ...]:
        """Keeps a segment for delivery; returns what went wrong on the way, for the next segment."""
        problem = self._spool.put(segment.name, encode(segment))
        dropped = self._spool.trim(segment.written_ms / 1000)
        self._delivery.wake()
        events = []
        if problem and not self._problem:
            log.error("%s; segments are kept in memory until it does", problem)
            events.append(Event(ts_ms=segment.written_ms, kind="spool_full", detail=problem))
        self._problem = problem
        if dropped.segments:
            detail = f"{dropped.rows} rows in {dropped.segments} segments, the oldest of the spool"
            log.error("spool is full or too old: %s were dropped", detail)
            events.append(Event(ts_ms=segment.written_ms, kind="rows_dropped", detail=detail))
        return tuple(events)
