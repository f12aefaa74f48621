"""What a poll of the queue may say at all: see possible.py."""

from collections.abc import Iterable
from typing import Final, get_args

import msgspec

from store.segment import PendingGpus, QueuePoll
from store.segment_slurm import WaitsFor

_LONGEST_MS: Final = 3 * 3_600_000
"""A poll stands no longer, whatever it says: slowest rhythm (an hour) x 2.5."""
_MOST: Final = (1 << 31) - 1
_MOST_LETTERS: Final = 2_000
_MOST_KINDS: Final = 10_000  # partitions x types of one poll


def possible_polls(polls: Iterable[QueuePoll], earliest_ms: int, latest_ms: int) -> tuple[QueuePoll, ...]:
    """Returns the polls of moments that can be, without counts that cannot."""
    return tuple(
        _known(poll) for poll in polls if earliest_ms <= poll.at_ms <= poll.until_ms and poll.at_ms <= latest_ms
    )


def _known(poll: QueuePoll) -> QueuePoll:
    held = poll.held_gpus
    return msgspec.structs.replace(
        poll,
        until_ms=min(poll.until_ms, poll.at_ms + _LONGEST_MS),
        pending=tuple(_cut(each) for each in poll.pending[:_MOST_KINDS] if _is_possible(each)),
        held_gpus=held if held is None or 0 <= held <= _MOST else None,
    )


def _is_possible(one: PendingGpus) -> bool:
    return 0 < one.jobs <= _MOST and 0 < one.gpus <= _MOST


def _cut(one: PendingGpus) -> PendingGpus:
    return msgspec.structs.replace(
        one,
        partition=one.partition and one.partition[:_MOST_LETTERS],
        gpu_type=one.gpu_type and one.gpu_type[:_MOST_LETTERS],
        waits_for=one.waits_for if one.waits_for in get_args(WaitsFor) else "other",
    )
