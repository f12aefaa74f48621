"""From bytes to segments that can be stored, and to refusals of those that cannot."""

from collections.abc import Sequence

import msgspec

from store.columns import Rows
from store.possible import (
    CLOCK_UNSET_MS,
    MAX_AHEAD_MS,
    refuse_impossible,
    why_impossible,
    without_impossible,
)
from store.quarantine import Refusal
from store.segment import AccountingRun, Segment, SegmentError, Table, decode


class Parsed:
    """A segment that can be stored."""

    def __init__(self, segment: Segment, rows: Rows) -> None:
        self.segment = segment
        self.rows = rows
        self.held = rows.held_devices()
        self.last_ms = max(segment.last_ms, int(rows.ts_ms.max())) if rows.count else segment.last_ms
        self.first_ms = min(segment.first_ms, int(rows.ts_ms.min())) if rows.count else segment.first_ms
        self.accounting: tuple[AccountingRun, ...] = ()
        self.passed_over: list[str] = []  # a sentence for each row of accounting that cannot be


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
    # The raw columns are not kept: of a column that nobody knows nothing is stored but its name.
    item = Parsed(msgspec.structs.replace(without_impossible(segment, latest_ms), samples=Table()), Rows(segment))
    _refuse_foreign(item, received_ms, synthetic=synthetic)
    refuse_impossible(segment, latest_ms)
    _take_accounting(item, latest_ms)
    return item


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
