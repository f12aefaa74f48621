"""Noise as a function of (key, time), not of a generator's state: any window, in any order, gets the same values."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def _mix(key: int, index: Ints) -> npt.NDArray[np.uint64]:
    """SplitMix64's finalizer (Steele, Lea, Flood 2014) over a counter."""
    with np.errstate(over="ignore"):
        z = (index.astype(np.uint64) + np.uint64(key & 0xFFFFFFFFFFFF) * np.uint64(0xD1342543DE82EF95)) * _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
        mixed: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed


def channels(key: int, index: Ints) -> Floats:
    """Returns four independent columns of uniform values in [-1, 1) for each index; shape (len(index), 4)."""
    parts: npt.NDArray[np.uint16] = _mix(key, index).view(np.uint16).reshape(-1, 4)
    return floats(parts) * (2.0 / 65536) - 1.0


def chance(key: int, index: Ints) -> Floats:
    """Returns one uniform value in [0, 1) for each index, independent of :func:`channels`."""
    return floats(_mix(key ^ 0x5DEECE66D, index) >> np.uint64(11)) / (1 << 53)


def wander(key: int, time_s: Floats, step_s: float) -> Floats:
    """Returns a slow walk in [-1, 1]: uniform values every ``step_s``, joined by straight lines."""
    position = time_s / step_s
    cell = np.floor(position)
    first = int(cell.min()) if cell.size else 0
    last = int(cell.max()) + 1 if cell.size else 1
    knots = channels(key ^ 0x2545F4914F, np.arange(first, last + 1, dtype=np.int64))[:, 0]
    return np.interp(position, np.arange(first, last + 1, dtype=np.float64), knots)


def generator(*path: int) -> np.random.Generator:
    """Returns a generator for one purpose: the path (seed, family, day ...) names it, so nothing depends on order."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(path)))


def lognormal(rng: np.random.Generator, median: float, sigma: float) -> float:
    """Returns one draw of a log-normal with the given median."""
    return float(median * np.exp(sigma * rng.standard_normal()))


def floats(values: Any) -> Floats:
    """Returns values as a float64 array."""
    return np.asarray(values, dtype=np.float64)
