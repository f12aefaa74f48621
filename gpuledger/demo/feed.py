"""Sends a synthetic cluster: the newest day first, then backwards, and each minute what has just happened."""

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Self

import msgspec

from gpuledger.demo.cluster import DAY_S, HOUR_S
from gpuledger.demo.settings import DemoSettings
from gpuledger.demo.stream import newest_hours, segments
from gpuledger.demo.truth import write_truth
from gpuledger.demo.world import World
from store.segment import encode

Batch = list[tuple[str, bytes]]  # name and bytes of each segment, as the inbox takes them
Push = Callable[[Batch], None]
Clock = Callable[[], int]  # epoch milliseconds

MINUTE_S = 60
FIRST_HOURS = 6  # the first batch is small: pages show something soon
BATCH_HOURS = 24
AHEAD_S = 2 * DAY_S  # how far the world is simulated beyond what is sent
PROGRESS = "demo.json"


class OtherCluster(Exception):
    """The directory belongs to a synthetic cluster with other settings; the message says what to do."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What was handed over: all of [from_s, to_s). The cluster began at ``start_s``; a restart goes on from here."""

    settings: DemoSettings
    start_s: int
    from_s: int
    to_s: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing was handed over yet."""
        return self.from_s == self.to_s

    @classmethod
    def begin(cls, settings: DemoSettings, now_s: int) -> Self:
        """Returns the state of nothing sent: a cluster that began ``settings.days`` ago, on a full hour."""
        start_s = (now_s // HOUR_S - settings.days * 24) * HOUR_S
        return cls(settings=settings, start_s=start_s, from_s=now_s, to_s=now_s)

    @classmethod
    def load(cls, directory: Path, settings: DemoSettings, now_s: int) -> Self:
        """Returns what was noted in ``directory``; raises OtherCluster where it is another cluster's."""
        path = directory / PROGRESS
        if not path.exists():
            return cls.begin(settings, now_s)
        noted = msgspec.json.decode(path.read_bytes(), type=cls)
        if noted.settings != settings:
            raise OtherCluster(
                f"{directory} holds a synthetic cluster with other settings; choose another --data DIR or delete it."
            )
        return noted

    def save(self, directory: Path) -> None:
        """Replaces the note at once, so that a kill leaves the old one or the new one."""
        beside = directory / f"{PROGRESS}.new"
        beside.write_bytes(msgspec.json.encode(self))
        beside.replace(directory / PROGRESS)


def feed(push: Push, settings: DemoSettings, directory: Path, clock: Clock, stop: Event, *, live: bool = True) -> None:
    """Hands batches of encoded segments to ``push`` until ``stop`` is set, or, not ``live``, until all days are sent.

    A batch is a day of all nodes, at first some hours, later a minute of them. The truth about every run goes to
    ``directory``/truth.jsonl when all days are there, and once an hour from then on. Raises OtherCluster where
    ``directory`` belongs to a synthetic cluster with other settings.
    """
    directory.mkdir(parents=True, exist_ok=True)
    now_s = clock() // 1000 // settings.interval_s * settings.interval_s
    progress = Progress.load(directory, settings, now_s)
    world = World(settings, progress.start_s, max(now_s, progress.to_s) + AHEAD_S)
    truth_at_s = 0
    while not stop.is_set():
        if world.horizon_s - progress.to_s < DAY_S:
            world = World(settings, progress.start_s, progress.to_s + AHEAD_S)
        latest_s = clock() // 1000 // MINUTE_S * MINUTE_S
        if latest_s > progress.to_s and not progress.is_empty:
            progress = _forward(push, world, progress, min(latest_s, progress.to_s + DAY_S))
        elif progress.from_s > progress.start_s:
            progress = _backward(push, world, progress)
        elif not live:
            break
        else:
            stop.wait((progress.to_s // MINUTE_S + 1) * MINUTE_S - clock() / 1000)
            continue
        progress.save(directory)
        if progress.from_s == progress.start_s and progress.to_s - truth_at_s >= HOUR_S:
            write_truth(world, progress.to_s, directory)
            truth_at_s = progress.to_s


def _forward(push: Push, world: World, progress: Progress, to_s: int) -> Progress:
    push([(segment.name, encode(segment)) for segment in segments(world, progress.to_s, to_s, progress.to_s)])
    return msgspec.structs.replace(progress, to_s=to_s)


def _backward(push: Push, world: World, progress: Progress) -> Progress:
    """The first batch of all also tells of the runs that are running."""
    from_s = newest_hours(progress.start_s, progress.from_s, FIRST_HOURS if progress.is_empty else BATCH_HOURS)
    everything = 0 if progress.is_empty else None
    push([(segment.name, encode(segment)) for segment in segments(world, from_s, progress.from_s, everything)])
    return msgspec.structs.replace(progress, from_s=from_s)
