"""The utilization of a GPU over the span of a row, from the driver's own readings.

The driver keeps a short buffer of readings (about 6 to 10 a second) and adds none while the GPU idles. A plain mean
over the buffer would therefore read one busy second in ten as 100 %. So each reading weighs the time it stands for:
back to the one before it, at most one second. While the buffer is dry, readings of our own stand for theirs in the same
way. What no reading stands for takes the current reading and counts as unwatched.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from collector.nvml import Gpu
from collector.readings import Moment, Reason

LONGEST_US: Final = 1_000_000  # most time that one reading stands for
_EPOCH_US: Final = 1_000_000_000_000_000  # September 2001: time stamps above are of the wall clock, below of another


class Share(NamedTuple):
    """The utilization of one span."""

    mean_pct: float
    highest_pct: float
    readings: int
    below1_ratio: float
    watched_ms: int


def summarise(
    readings: Sequence[tuple[int, float]], start_us: int, end_us: int, current_pct: float | None
) -> Share | None:
    """Returns the time-weighted summary of [start_us, end_us), or None where nothing is known about it.

    Args:
        readings: (time in microseconds, percent) in order of time; one from before the span bounds the first in it.
        start_us: begin of the span.
        end_us: end of the span, after its begin.
        current_pct: the reading for the time that no other stands for; None where there is none.
    """
    watched = below = count = 0
    weighed = highest = 0.0
    before: int | None = None
    for at, pct in readings:
        begin = at - LONGEST_US if before is None else max(before, at - LONGEST_US)
        before = at
        piece = min(at, end_us) - max(begin, start_us)
        if piece <= 0:
            continue
        watched += piece
        weighed += pct * piece
        below += piece if pct < 1 else 0
        highest = max(highest, pct)
        count += 1
    known = watched
    rest = end_us - start_us - watched
    if rest > 0 and current_pct is not None:
        known += rest
        weighed += current_pct * rest
        below += rest if current_pct < 1 else 0
        highest = max(highest, current_pct)
        count += 1
    if known <= 0:
        return None
    return Share(weighed / known, highest, count, below / known, watched // 1000)


class Watch:
    """Gathers the readings of one GPU between its rows: from the driver's buffer, and those taken by ``note``."""

    def __init__(self) -> None:
        self.buffered = True  # until the driver says that this device has no buffer
        self.dry = False  # nothing of the last second was in the buffer when it was last read
        self.refused = 0  # readings outside 0..100 since the last summary
        # By the wall clock, and apart: the buffer tells of a time after the readings taken in it were noted.
        self._buffer: list[tuple[int, float]] = []
        self._noted: list[tuple[int, float]] = []
        self._newest_us = 0  # by the driver's clock
        self._offset_us: int | None = None  # steady clock less the driver's, where that is not the wall clock

    def gather(self, gpu: Gpu, moment: Moment) -> None:
        """Takes what the driver's buffer has gathered since the last time."""
        if not self.buffered:
            return
        now_us = moment.wall_ms * 1000
        # A time stamp from the future was taken before the wall clock was set back: ask for everything again.
        since_us = self._newest_us if self._newest_us <= now_us + LONGEST_US else 0
        samples = gpu.samples(since_us)
        if samples is Reason.NOT_SUPPORTED:
            self.buffered = False
        elif not isinstance(samples, Reason):
            self._take([sample for sample in samples if sample[0] > since_us], moment)
        newest_us = self._buffer[-1][0] if self._buffer else 0
        self.dry = self.buffered and newest_us <= now_us - LONGEST_US

    def note(self, moment: Moment, pct: float) -> None:
        """Takes a reading of the caller's own, where there is no buffer or nothing in it."""
        self._add(self._noted, [(moment.wall_ms * 1000, pct)])

    def summary(self, start_us: int, end_us: int, current_pct: float | None) -> Share | None:
        """Returns the summary of the span and forgets the readings that it used."""
        share = summarise(sorted([*self._buffer, *self._noted]), start_us, end_us, current_pct)
        del self._buffer[:-1], self._noted[:-1]
        return share

    def _take(self, samples: list[tuple[int, float]], moment: Moment) -> None:
        now_us = moment.wall_ms * 1000
        samples = sorted(sample for sample in samples if sample[0] <= now_us + LONGEST_US)
        if not samples:
            return
        self._newest_us = samples[-1][0]
        shift_us = 0
        if self._newest_us < _EPOCH_US:
            # The newest reading is never from the future, and fresh at least once: the least distance is the offset.
            distance_us = int(moment.steady_s * 1_000_000) - self._newest_us
            self._offset_us = distance_us if self._offset_us is None else min(self._offset_us, distance_us)
            shift_us = self._offset_us + now_us - int(moment.steady_s * 1_000_000)
        self._add(self._buffer, [(min(at + shift_us, now_us), pct) for at, pct in samples])

    def _add(self, kept: list[tuple[int, float]], readings: list[tuple[int, float]]) -> None:
        if readings and kept and kept[-1][0] > readings[0][0]:
            # They are from before the wall clock was set back, and so are the others.
            self._buffer.clear()
            self._noted.clear()
        # Drivers print 2619 or 808334905 % now and then: dropped and counted, never clipped to 100.
        sound = [reading for reading in readings if 0 <= reading[1] <= 100]
        self.refused += len(readings) - len(sound)
        kept += sound
