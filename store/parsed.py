"""From bytes to segments that can be stored, and to refusals of those that cannot."""

from collections.abc import Sequence
from typing import Final

from store.columns import Rows
from store.quarantine import Refusal
from store.segment import AccountingRun, Segment, SegmentError, decode

# munge refuses credentials more than five minutes off, so a node further ahead runs no jobs; and "as of" is the newest
# row of any node, so one clock in the future would hold every running job until then.
MAX_AHEAD_MS: Final = 600_000
# Before the clock was set (no battery, no NTP yet), machines start in 1970 or at the turn of the century.
CLOCK_UNSET_MS: Final = 1_000_000_000_000
_MOST_SLICES: Final = 1024


class Parsed:
    """A segment that can be stored."""

    def __init__(self, segment: Segment, rows: Rows) -> None:
        self.segment = segment
        self.rows = rows
        self.held = rows.held_devices()
        self.last_ms = max(segment.last_ms, int(rows.ts_ms.max())) if rows.count else segment.last_ms
        self.first_ms = min(segment.first_ms, int(rows.ts_ms.min())) if rows.count else segment.first_ms
        self.accounting = segment.accounting
        self.passed_over: list[str] = []  # a sentence for each row of accounting that cannot be


def parse(
    batch: Sequence[tuple[str, bytes]], received_ms: int, *, synthetic: bool
) -> tuple[list[Parsed], list[Refusal]]:
    """Returns the segments of a batch of (name, bytes) that can be stored, and the rest with its reasons."""
    parsed: list[Parsed] = []
    refused: list[Refusal] = []
    for name, data in batch:
        try:
            segment = decode(data)
            item = Parsed(segment, Rows(segment))
            _refuse_foreign(item, received_ms, synthetic=synthetic)
            _refuse_impossible(segment, received_ms + MAX_AHEAD_MS)
            _pass_over(item, received_ms + MAX_AHEAD_MS)
        except SegmentError as error:
            refused.append(Refusal(name, data, str(error)))
        else:
            parsed.append(item)
    return parsed, refused


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


def _refuse_impossible(segment: Segment, latest_ms: int) -> None:
    for device in segment.devices:
        if not 1 <= device.slices <= device.slices_of <= _MOST_SLICES:
            raise SegmentError(f"segment refused: {device.uuid} is {device.slices} of {device.slices_of} slices")
    for holding in segment.holdings:
        end_ms = holding.start_ms if holding.end_ms is None else holding.end_ms
        if not CLOCK_UNSET_MS <= holding.start_ms <= end_ms <= latest_ms:
            stretch = f"from {holding.start_ms} to {holding.end_ms}"
            raise SegmentError(f"segment refused: job {holding.job_id} is said to hold GPUs {stretch}")


def _pass_over(item: Parsed, latest_ms: int) -> None:
    """Leaves out rows of accounting with times that cannot be: the many others of the segment are good."""

    def possible(row: AccountingRun) -> bool:
        end_ms = row.start_ms if row.end_ms is None else row.end_ms
        return row.start_ms is None or end_ms is None or CLOCK_UNSET_MS <= row.start_ms <= end_ms <= latest_ms

    item.accounting = tuple(row for row in item.segment.accounting if possible(row))
    item.passed_over = [
        f"accounting row passed over: job {row.job_id_raw} is said to run from {row.start_ms} to {row.end_ms}"
        for row in item.segment.accounting
        if not possible(row)
    ]
