"""What a poll of the queue may say at all: see possible.py."""

from collections.abc import Iterable
from typing import Final, get_args

import msgspec

from store.possible import CLOCK_UNSET_MS, MAX_HELD_MS, MOST_NODES, NODE, WORD, cut
from store.segment import LiveRun, PendingGpus, QueuePoll
from store.segment_slurm import WaitsFor

_LONGEST_MS: Final = 3 * 3_600_000
"""A poll stands no longer, whatever it says: slowest rhythm (an hour) x 2.5."""
_MOST: Final = (1 << 31) - 1
_MOST_KINDS: Final = 10_000  # partitions x types of one poll
_COUNTS: Final = {
    **dict.fromkeys(("restart", "timelimit_s", "ran_s"), _MOST),
    **dict.fromkeys(("req_gpus", "alloc_gpus"), 1_000_000),  # of one run: more than any machine has
    "uid": (1 << 32) - 1,
}


def possible_polls(polls: Iterable[QueuePoll], latest_ms: int) -> tuple[tuple[QueuePoll, ...], list[str]]:
    """Returns the polls of moments that can be, without what cannot, and a sentence for each run passed over."""
    kept: list[QueuePoll] = []
    passed_over: dict[str, None] = {}
    for poll in polls:
        if not CLOCK_UNSET_MS <= poll.at_ms <= min(poll.until_ms, latest_ms):
            continue
        reasons = [why_no_live_run(run, latest_ms) for run in poll.runs]
        runs = tuple(run for run, reason in zip(poll.runs, reasons, strict=True) if reason is None)
        kept.append(msgspec.structs.replace(_known(poll), runs=tuple(map(cut, runs))))
        passed_over |= {
            f"live run passed over: job {run.job_id_raw[:80]!r} {reason}": None
            for run, reason in zip(poll.runs, reasons, strict=True)
            if reason is not None
        }
    return tuple(kept), list(passed_over)


def _known(poll: QueuePoll) -> QueuePoll:
    held = poll.held_gpus
    return msgspec.structs.replace(
        poll,
        until_ms=min(poll.until_ms, poll.at_ms + _LONGEST_MS),
        pending=tuple(_possible(each) for each in poll.pending[:_MOST_KINDS] if _is_possible(each)),
        held_gpus=held if held is None or 0 <= held <= _MOST else None,
    )


def _is_possible(one: PendingGpus) -> bool:
    return 0 < one.jobs <= _MOST and 0 < one.gpus <= _MOST


def _possible(one: PendingGpus) -> PendingGpus:
    return cut(one) if one.waits_for in get_args(WaitsFor) else msgspec.structs.replace(cut(one), waits_for="other")


def why_no_live_run(run: LiveRun, latest_ms: int) -> str | None:
    """Returns why a live run cannot be, None where it can. The many others of its poll are good."""
    if not (WORD.fullmatch(run.job_id_raw) and WORD.fullmatch(run.job_id)):
        return f"is called {run.job_id[:80]!r}, which is no job id"
    for moment in (run.start_ms, run.end_ms, run.turned_ms):
        if moment is not None and not CLOCK_UNSET_MS <= moment <= latest_ms:
            return f"is said to start at {run.start_ms}, to end at {run.end_ms} and to be suspended at {run.turned_ms}"
    if latest_ms - run.start_ms > MAX_HELD_MS:
        return f"is said to run since {run.start_ms}"
    for name, most in _COUNTS.items():
        value = getattr(run, name)
        if value is not None and not 0 <= value <= most:
            return f"is said to have {name} {value}"
    if len(run.places) > MOST_NODES or not all(NODE.fullmatch(place.node) for place in run.places):
        return "is said to run on what is no list of nodes"
    return None
