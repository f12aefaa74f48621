"""A small synthetic cluster that the tests of the demo share, and segments taken apart."""

from functools import cache

import numpy as np

from gpuledger.demo.cluster import DAY_S
from gpuledger.demo.settings import DemoSettings
from gpuledger.demo.stream import segments
from gpuledger.demo.world import World
from store.segment import Segment

START_S = 1_764_547_200  # Monday 2025-12-01 00:00 UTC
SETTINGS = DemoSettings(nodes=8, gpus=4, days=3, seed=7)
END_S = START_S + 3 * DAY_S - 35 * 60 - 30  # not on a full hour, nor on a minute


@cache
def world() -> World:
    return World(SETTINGS, START_S, START_S + 5 * DAY_S)


@cache
def all_segments() -> tuple[Segment, ...]:
    return tuple(segments(world(), START_S, END_S, 0))


def column(segment: Segment, name: str) -> np.ndarray:
    """Returns a column's raw values."""
    found = segment.samples.columns[name]
    return np.frombuffer(found.data, dtype=f"<{found.dtype}")


def valid(segment: Segment, name: str) -> np.ndarray:
    """Returns which values of a column are valid."""
    found = segment.samples.columns[name]
    if not found.valid:
        return np.ones(segment.samples.rows, dtype=bool)
    bits = np.unpackbits(np.frombuffer(found.valid, dtype=np.uint8), bitorder="little")
    return bits[: segment.samples.rows].astype(bool)
