"""Integer sums as SQL returns them, and the GPU-hours that are made of them, once."""

from typing import Any

import msgspec

from analytics.queries.pieces import ENERGY_PER_KWH, UNITS_PER_GPU_H


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over pieces, in their units: weight x ms for times, 0.1 % x weight x ms for util_sum, 0.1 mJ for energy."""

    held: int = 0
    active: int = 0
    low: int = 0
    idle_held: int = 0
    idle_empty: int = 0
    unknown: int = 0
    unmeasurable: int = 0
    parked: int = 0
    util_sum: int = 0
    util_ms: int = 0
    energy: int | None = None
    energy_estimated: bool = False
    runs: int | None = None  # these four: None where nobody counted
    users: int | None = None
    gpus: int | None = None
    findings: int | None = None


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What every sum of GPU-hours carries. ``held = active + low + idle_held + idle_empty + unknown``, exactly.

    ``lost_gpu_h`` is the below-100 figure: it contains idle, the two are never added. ``coverage`` (0-1) leaves out
    what cannot be measured on that hardware; ``util_mean_pct`` is the mean over measured time, weighted by GPU-hours.
    ``runs``, ``users`` and ``gpus`` are None where counting was not asked for.
    """

    held_gpu_h: float
    active_gpu_h: float
    low_gpu_h: float
    idle_held_gpu_h: float
    idle_empty_gpu_h: float
    idle_gpu_h: float
    unknown_gpu_h: float
    missing_gpu_h: float
    unmeasurable_gpu_h: float
    parked_gpu_h: float
    lost_gpu_h: float
    measured_gpu_h: float
    coverage: float | None
    util_mean_pct: float | None
    energy_kwh: float | None
    energy_estimated: bool
    runs: int | None
    users: int | None
    gpus: int | None


def gpu_h(units: int) -> float:
    """Returns GPU-hours for an integer sum of weight x ms."""
    return units / UNITS_PER_GPU_H


def ratio(part: int, whole: int) -> float | None:
    """Returns part / whole, or None where the whole is nothing."""
    return part / whole if whole > 0 else None


def kwh(energy: int | None) -> float | None:
    """Returns kWh for an integer sum of 0.1 mJ."""
    return None if energy is None else energy / ENERGY_PER_KWH


def figures(sums: Sums) -> dict[str, Any]:
    """Returns the fields of :class:`Figures` for the sums. Each is divided once, from integers."""
    mean = ratio(sums.util_sum, sums.util_ms)
    return {
        "held_gpu_h": gpu_h(sums.held),
        "active_gpu_h": gpu_h(sums.active),
        "low_gpu_h": gpu_h(sums.low),
        "idle_held_gpu_h": gpu_h(sums.idle_held),
        "idle_empty_gpu_h": gpu_h(sums.idle_empty),
        "idle_gpu_h": gpu_h(sums.idle_held + sums.idle_empty),
        "unknown_gpu_h": gpu_h(sums.unknown),
        "missing_gpu_h": gpu_h(sums.unknown - sums.unmeasurable),
        "unmeasurable_gpu_h": gpu_h(sums.unmeasurable),
        "parked_gpu_h": gpu_h(sums.parked),
        # Stored utilization is in 0.1 %: a full hour sums to 1000 per ms.
        "lost_gpu_h": (sums.util_ms * 1000 - sums.util_sum) / (1000 * UNITS_PER_GPU_H),
        "measured_gpu_h": gpu_h(sums.held - sums.unknown),
        "coverage": ratio(sums.held - sums.unknown, sums.held - sums.unmeasurable),
        "util_mean_pct": None if mean is None else mean / 10,
        "energy_kwh": kwh(sums.energy),
        "energy_estimated": sums.energy_estimated,
        "runs": sums.runs,
        "users": sums.users,
        "gpus": sums.gpus,
    }
