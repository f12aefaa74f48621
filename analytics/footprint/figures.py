"""Sums, means and percentiles of each GPU of a run, from its pieces of time."""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analytics.clocks import BRAKES, SLOWDOWNS
from analytics.footprint.groups import Bools, Floats, Ints, Values
from analytics.footprint.pieces import Column, Pieces
from analytics.footprint.rows import ACTIVE, IDLE, IDLE_HELD, LOW, TRAFFIC, UNKNOWN, UTILIZATION_SCALE
from store.catalog import BY_NAME

Figures = dict[str, pa.Array]
"""One value a hold, by the name of the column."""

_POWER: Final = BY_NAME["power_w"].per_unit
_MEANS: Final = {
    "util_mean_pct": ("util", UTILIZATION_SCALE),
    **{f"{short}_mean_pct": (name, BY_NAME[name].per_unit) for short, name in (
        ("sm", "sm_active_pct"), ("tensor", "tensor_active_pct"), ("dram", "dram_active_pct"))},
    "mem_mean_mib": ("mem_used_mib", BY_NAME["mem_used_mib"].per_unit),
    "power_mean_w": ("power_w", _POWER),
}  # fmt: skip
_PERCENTILES: Final[dict[str, dict[str, float]]] = {
    "util": {"util_p50_pct": 0.5, "util_p95_pct": 0.95},
    "sm_active_pct": {"sm_p95_pct": 0.95},
    "tensor_active_pct": {"tensor_p95_pct": 0.95},
    "dram_active_pct": {"dram_p95_pct": 0.95},
    "engines": {"engine_p95_pct": 0.95},
    "mem_used_mib": {"mem_p99_mib": 0.99},
    "power_w": {"power_p95_w": 0.95},
}
_HIGHEST: Final = {"util_max_pct": "util", "mem_max_mib": "mem_used_mib", "power_max_w": "power_w"}


def figures(pieces: Pieces) -> Figures:
    """Returns the figures of each hold of a batch; means, percentiles and what the driver never told are NULL."""
    return {
        **_times(pieces),
        **_means(pieces),
        **_percentiles(pieces),
        **{name: _moved(pieces, name) for name in TRAFFIC},
        **_energy(pieces),
        **_slowed(pieces),
    }


def array(values: Values, known: Bools) -> pa.Array:
    """Returns values as Arrow has them, NULL where they are not known."""
    return pa.array(values, mask=~known)


def _times(pieces: Pieces) -> Figures:
    groups, ms = pieces.groups, pieces.ms
    states = len((UNKNOWN, IDLE, IDLE_HELD, LOW, ACTIVE))
    # Floats hold these integers exactly: a run would have to last 285,000 years.
    by_state = np.bincount(pieces.number * states + pieces.state, weights=ms, minlength=groups.count * states)
    time_ms = by_state.astype(np.int64).reshape(groups.count, states)
    known = pieces.state > UNKNOWN
    found = {
        "rows": groups.sum(known),
        "covered_ms": time_ms[:, IDLE:].sum(axis=1),
        "active_ms": time_ms[:, ACTIVE],
        "low_ms": time_ms[:, LOW],
        "idle_held_ms": time_ms[:, IDLE_HELD],
        "idle_ms": time_ms[:, IDLE],
        "busy_ms": groups.sum(pieces.busy_ms),
    }
    full = pieces.column("half_full")
    parked = np.zeros(len(ms), np.bool_) if full is None else full.values & (pieces.state == IDLE_HELD)
    readings, watched = pieces.column("util_readings"), pieces.column("util_watched_ms")
    nothing = np.zeros(groups.count, np.int64)
    found["parked_ms"] = groups.sum(np.where(parked, ms, 0))
    found["readings"] = nothing if readings is None else groups.sum(readings.values)
    found["watched_ms"] = nothing if watched is None else groups.sum(_watched_ms(pieces, watched) * known)
    last_ms = groups.most(pieces.to_ms)
    return {
        **{name: pa.array(values) for name, values in found.items()},
        "last_row_ms": array(last_ms, last_ms > 0),
    }


def _watched_ms(pieces: Pieces, column: Column) -> Ints:
    watched_ms: Ints = column.values.astype(np.int64) * pieces.ms // pieces.span_ms
    return watched_ms


def _means(pieces: Pieces) -> Figures:
    """Time-weighted over the pieces that have the reading; sums are integers, so their order does not matter."""
    found: Figures = {}
    for name, (column, per_unit) in _MEANS.items():
        reading = pieces.reading(column)
        if reading is None:
            found[name] = pa.nulls(pieces.groups.count, pa.float64())
            continue
        total, ms = reading.groups.sum(reading.values * reading.ms), reading.groups.sum(reading.ms)
        found[name] = array(ratio(total, per_unit, ms), ms > 0)
    return found


def ratio(total: Ints, per_unit: int, ms: Ints) -> Floats:
    """Returns means from sums of stored value x ms; meaningless where ``ms`` is 0."""
    found: npt.NDArray[np.float64] = total / float(per_unit) / np.maximum(ms, 1)
    return found


def _percentiles(pieces: Pieces) -> Figures:
    found: Figures = {}
    scales = {"util": UTILIZATION_SCALE, "engines": UTILIZATION_SCALE}
    highest = {column: name for name, column in _HIGHEST.items()}
    for column, names in _PERCENTILES.items():
        reading = pieces.reading(column)
        wanted = [*names, *([highest[column]] if column in highest else [])]
        if reading is None:
            found |= {name: pa.nulls(pieces.groups.count, pa.float64()) for name in wanted}
            continue
        per_unit = float(scales.get(column) or BY_NAME[column].per_unit)
        values = reading.groups.percentiles(reading.values, list(names.values()))
        if column in highest:
            values.append(reading.groups.most(reading.values).astype(np.float64))
        known = reading.groups.sizes_of_all() > 0
        found |= {name: array(value / per_unit, known) for name, value in zip(wanted, values, strict=True)}
    return found


def _moved(pieces: Pieces, name: str) -> pa.Array:
    """Amounts are shared by time where a row is cut."""
    column = pieces.column(name)
    if column is None:
        return pa.nulls(pieces.groups.count, pa.int64())
    moved = column.values.astype(np.int64)
    cut = np.flatnonzero(pieces.ms != pieces.span_ms)
    shares = moved[cut] * pieces.ms[cut] / pieces.span_ms[cut]
    moved[cut] = 0
    parts = np.bincount(pieces.number[cut], weights=shares, minlength=pieces.groups.count)
    total = np.floor(pieces.groups.sum(moved) + parts + 0.5).astype(np.int64)
    return array(total, pieces.groups.any(column.known))


def _energy(pieces: Pieces) -> Figures:
    """By the counter where it can be used, else by power: mW x ms / 1000 = mJ x 1/1000.

    Where more than a twentieth of the time rests on power the sum is marked estimated; without either it is unknown.
    """
    groups, ms = pieces.groups, pieces.ms
    counted = pieces.energy_mj
    total, missing_ms = counted.values, np.zeros(groups.count, np.int64)
    told = groups.any(counted.known)
    if counted.valid is not None:
        missing_ms = groups.sum(np.where(counted.valid, 0, ms))
        power = pieces.column("power_w")
        if power is not None:
            total = np.where(counted.valid, total, power.values * ms // _POWER)
            told |= groups.any(power.known & ~counted.valid)
    return {
        "energy_j": array(groups.sum(total) / 1000.0, told),
        "energy_estimated": pa.array(missing_ms * 20 > groups.sum(ms)),
    }


def _slowed(pieces: Pieces) -> Figures:
    """Time under each reason; NULL where the driver never told any."""
    groups, column = pieces.groups, pieces.column("event_reasons")
    names = [f"{slowdown.id}_ms" for slowdown in SLOWDOWNS]
    if column is None:
        nothing = array(np.zeros(groups.count, np.int64), groups.sizes_of_all() > 0)
        return {"throttled_ms": nothing, **dict.fromkeys(names, pa.nulls(groups.count, pa.int64()))}
    some = np.flatnonzero(column.values)
    reasons, ms, number = column.values[some], pieces.ms[some], pieces.number[some]

    def time_ms(holds: Bools) -> Ints:
        return np.bincount(number, weights=np.where(holds, ms, 0), minlength=groups.count).astype(np.int64)

    told = groups.any(column.known)
    each = [time_ms((reasons & one.any_of != 0) & (reasons & one.none_of == 0)) for one in SLOWDOWNS]
    return {
        "throttled_ms": array(time_ms(reasons & BRAKES != 0), groups.sizes_of_all() > 0),
        **{name: array(values, told) for name, values in zip(names, each, strict=True)},
    }
