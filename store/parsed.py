"""From bytes to segments that can be stored, and to refusals of those that cannot."""

from collections.abc import Sequence

import msgspec

from store.columns import Rows
from store.hosts import HostRows
from store.possible import (
    CLOCK_UNSET_MS,
    MAX_AHEAD_MS,
    refuse_impossible,
    why_impossible,
    why_no_hold,
    without_impossible,
)
from store.possible_queue import possible_polls
from store.quarantine import Refusal
from store.segment import AccountingRun, Segment, SegmentError, Table, decode


class Parsed:
    """A segment that can be stored."""

    def __init__(self, segment: Segment, rows: Rows, hosts: HostRows) -> None:
        self.segment = segment
        self.rows = rows
        self.hosts = hosts
        self.held = rows.held_devices()
        self.last_ms = max(segment.last_ms, int(rows.ts_ms.max())) if rows.count else segment.last_ms
        self.first_ms = min(segment.first_ms, int(rows.ts_ms.min())) if rows.count else segment.first_ms
        self.accounting: tuple[AccountingRun, ...] = ()
        self.passed_over: list[str] = []  # a sentence for each hold and row of accounting that cannot be


def parse(
    batch: Sequence[tuple[str, bytes]], received_ms: int, *, synthetic: bool
) -> tuple[list[Parsed], list[Refusal]]:
    """Returns the segments of a batch of (name, bytes) that can be stored, and the rest with its reasons."""
    parsed: list[Parsed] = []
    refused: list[Refusal] = []
    for name, data in batch:
        try:
            parsed.append(_parsed(decode(data), received_ms, synthetic=synthetic))
        except SegmentError as error:
            refused.append(Refusal(name, data, str(error)))
    return parsed, refused


def _parsed(segment: Segment, received_ms: int, *, synthetic: bool) -> Parsed:
    latest_ms = received_ms + MAX_AHEAD_MS
    rows = Rows(segment)
    # The raw columns are not kept: of a column that nobody knows nothing is stored but its name.
    hosts = HostRows(segment, CLOCK_UNSET_MS, latest_ms)
    polls, not_live = possible_polls(segment.queue, latest_ms)
    possible_parts = without_impossible(segment, latest_ms)
    bare = msgspec.structs.replace(possible_parts, samples=Table(), hosts=Table(), queue=polls)
    possible, passed_over = _pass_over_holds(bare, rows, hosts, latest_ms)
    item = Parsed(possible, rows, hosts)
    _refuse_foreign(item, received_ms, synthetic=synthetic)
    refuse_impossible(segment, latest_ms)
    _take_accounting(item, latest_ms)
    item.passed_over += [*passed_over, *not_live]
    return item


def _pass_over_holds(segment: Segment, rows: Rows, hosts: HostRows, latest_ms: int) -> tuple[Segment, list[str]]:
    """Returns the segment without the holds that cannot be, their rows being nobody's, and a sentence for each."""
    reasons = [why_no_hold(holding, segment.last_ms, latest_ms) for holding in segment.holdings]
    if not any(reasons):
        return segment, []
    kept = [at for at, reason in enumerate(reasons) if reason is None]
    place_of = {at: place for place, at in enumerate(kept)}
    places = [place_of.get(at, -1) for at in range(len(reasons))]
    rows.renumber(places)
    hosts.renumber(places)
    left = msgspec.structs.replace(
        segment,
        holdings=tuple(segment.holdings[at] for at in kept),
        processes=tuple(
            seen if seen.holding is None else msgspec.structs.replace(seen, holding=places[seen.holding])
            for seen in segment.processes
            if seen.holding is None or places[seen.holding] >= 0
        ),
    )
    return left, [
        f"hold passed over: job {holding.job_id[:80]!r} {reason}"
        for holding, reason in zip(segment.holdings, reasons, strict=True)
        if reason is not None
    ]


def _refuse_foreign(item: Parsed, received_ms: int, *, synthetic: bool) -> None:
    segment = item.segment
    if segment.synthetic != synthetic:
        kind, other = ("synthetic", "real") if segment.synthetic else ("real", "synthetic")
        raise SegmentError(f"segment refused: it holds {kind} data and this store holds {other} data")
    if item.last_ms > received_ms + MAX_AHEAD_MS:
        minutes = (item.last_ms - received_ms) // 60_000
        raise SegmentError(f"segment refused: the clock of {segment.node} is {minutes} minutes ahead; set it by NTP")
    if item.first_ms < CLOCK_UNSET_MS:
        raise SegmentError(f"segment refused: the clock of {segment.node} was not set when it was written")


def _take_accounting(item: Parsed, latest_ms: int) -> None:
    reasons = {row: why_impossible(row, item.segment.written_ms, latest_ms) for row in item.segment.accounting}
    item.accounting = tuple(row for row in item.segment.accounting if reasons[row] is None)
    item.passed_over = [
        f"accounting row passed over: job {row.job_id_raw[:80]} {reason}"
        for row, reason in reasons.items()
        if reason is not None
    ]
