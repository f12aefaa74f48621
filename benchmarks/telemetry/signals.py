"""What one GPU does, reading by reading, before it is rounded to a column's unit."""

from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from benchmarks.telemetry.plan import Activity, Plan

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float32]

_FREE_MIB: Final = 4
_REST_MW, _SPAN_MW, _TENSOR_MW = 68_000, 300_000, 300_000
_LEAST_MW, _MOST_MW = 60_000, 700_000
_CAPPED_MW: Final = 650_000
_BOOST_MHZ, _REST_MHZ, _CLOCK_STEP_MHZ = 1980, 345, 15
_COOLING_S: Final = 200  # how long the die takes to follow the power
_STALL_S: Final = 30
_GPU_IDLE, _POWER_CAP = 0x1, 0x4  # nvmlClocksEventReasonGpuIdle, nvmlClocksEventReasonSwPowerCap
_PCIE_KIB_S: Final = 400_000


class Signals(msgspec.Struct, frozen=True, kw_only=True):
    """One value a reading. Counters are what the device has counted by then; ``run`` is -1 where nobody holds it."""

    run: _Ints
    util_pct: _Floats
    mem_util_pct: _Floats
    mem_used_mib: _Ints
    power_mw: _Ints
    energy_mj: _Ints  # counter
    sm_clock_mhz: _Ints
    temp_c: _Floats
    event_reasons: _Ints
    pcie_rx_kib: _Ints  # counter
    pcie_tx_kib: _Ints  # counter
    sm_active: _Floats  # ratios
    sm_occupancy: _Floats
    tensor_active: _Floats
    dram_active: _Floats


class _Work(msgspec.Struct, frozen=True):
    """What a run does on each of its GPUs."""

    level: float
    tensor: float
    dram: float
    mem_mib: int
    period_s: float
    duty: float


def signals(plan: Plan, node: int, gpu: int, held: list[tuple[int, int, int]]) -> Signals:
    """Return what a GPU did over the whole window of a plan; ``held`` are its holds (Plan.held)."""
    fleet = plan.fleet
    n, second = fleet.readings, 1000 / fleet.interval_ms
    rng = np.random.default_rng([fleet.seed, node, gpu])
    run, mem = np.full(n, -1, np.int64), np.full(n, _FREE_MIB, np.int64)
    activity, tensor, dram = np.zeros((3, n), np.float32)
    for number, start_ms, end_ms in held:
        first, last = ((at_ms - fleet.from_ms) // fleet.interval_ms for at_ms in (start_ms, end_ms))
        does, kind = _work(fleet.seed, number), plan.runs[number].activity
        run[first:last], mem[first:last] = number, does.mem_mib
        tensor[first:last], dram[first:last] = does.tensor, does.dram
        activity[first:last] = _activity(rng, does, kind, last - first, second)
        if kind in {"bursty", "ramp"}:
            mem[first:last] += 2 * rng.integers(0, 40, last - first)
    activity = np.clip(activity, 0, 1)
    on = activity > 0.005
    drams = np.clip(activity * dram * (1 + _noise(rng, n, 0.02)), 0, 1)
    power = _REST_MW + activity * (_SPAN_MW + _TENSOR_MW * tensor) + np.where(on, 9000, 250) * _noise(rng, n, 1)
    power_mw: _Ints = np.clip(power, _LEAST_MW, _MOST_MW).astype(np.int64)
    spent = power_mw * fleet.interval_ms // 1000
    spent += np.where(on, rng.integers(-40_000, 40_000, n), rng.integers(-900, 900, n))
    slower = np.clip((power_mw - 480_000) // 20_000, 0, 20) * _CLOCK_STEP_MHZ
    busy_pct = np.clip(100 * np.minimum(1, 1.25 * activity) + _noise(rng, n, 0.6), 1, 100)
    return Signals(
        run=run,
        util_pct=np.where(on, busy_pct, 0),
        mem_util_pct=np.where(on, 90 * drams, 0),
        mem_used_mib=mem,
        power_mw=power_mw,
        energy_mj=np.cumsum(np.maximum(spent, 0)),
        sm_clock_mhz=np.where(on | (run >= 0), _BOOST_MHZ - np.where(on, slower, 0), _REST_MHZ),
        temp_c=_temperature(rng, power_mw, max(1, round(_COOLING_S * second))),
        event_reasons=np.where(on, np.where(power_mw > _CAPPED_MW, _POWER_CAP, 0), _GPU_IDLE),
        pcie_rx_kib=_moved(rng, activity, 1.0, 300, second),
        pcie_tx_kib=_moved(rng, activity, 0.3, 200, second),
        sm_active=activity,
        sm_occupancy=np.clip(0.35 * activity * (1 + _noise(rng, n, 0.03)), 0, 1),
        tensor_active=np.clip(activity * tensor * (1 + _noise(rng, n, 0.02)), 0, 1),
        dram_active=drams,
    )


def _work(seed: int, run: int) -> _Work:
    rng = np.random.default_rng([seed, run, 1, 1])
    return _Work(
        level=rng.uniform(0.55, 0.98),
        tensor=rng.uniform(0.05, 0.75),
        dram=rng.uniform(0.2, 0.8),
        mem_mib=int(rng.integers(4000, 80_000)),
        period_s=rng.uniform(30, 600),
        duty=rng.uniform(0.2, 0.9),
    )


def _activity(rng: np.random.Generator, does: _Work, kind: Activity, n: int, second: float) -> npt.NDArray[Any]:
    """Share of the GPU in use at each of ``n`` readings; ``second``: readings a second."""
    at_s = np.arange(n) / second
    if kind == "idle":
        return np.zeros(n, np.float32)
    if kind == "steady":
        found = does.level + _noise(rng, n, 0.015)
    elif kind == "bursty":
        found = np.where(at_s % does.period_s < does.period_s * does.duty, does.level, 0.03) + _noise(rng, n, 0.03)
    else:
        found = np.minimum(1, np.arange(n) / max(1, 0.3 * n)) * does.level + _noise(rng, n, 0.02)
    if rng.random() < 0.5:  # it writes checkpoints, and waits for them
        found[at_s % rng.integers(900, 3600) < _STALL_S] = 0.01
    return found


def _noise(rng: np.random.Generator, n: int, scale: float) -> _Floats:
    """White noise over noise that is smooth over eight readings, as a moving mean of work would be."""
    white: npt.NDArray[np.float64] = np.cumsum(rng.standard_normal(n + 8, np.float32), dtype=np.float64)
    smooth = ((white[8:] - white[:-8]) / np.sqrt(8)).astype(np.float32)
    noise: _Floats = np.float32(scale) * (
        np.float32(0.8) * smooth + np.float32(0.6) * rng.standard_normal(n, np.float32)
    )
    return noise


def _temperature(rng: np.random.Generator, power_mw: _Ints, window: int) -> _Floats:
    """The die follows the power of the last readings, as a box filter."""
    target = np.cumsum(np.concatenate([np.full(window, 30 + power_mw[:1].sum() / 16_000), 30 + power_mw / 16_000]))
    mean = (target[window:] - target[:-window]) / window
    found: _Floats = np.clip(mean + 0.3 * rng.standard_normal(len(power_mw)), 20, 95).astype(np.float32)
    return found


def _moved(rng: np.random.Generator, activity: _Floats, share: float, rest_kib_s: int, second: float) -> _Ints:
    """A counter of KiB over PCIe: a share of the work, and next to nothing at rest."""
    n = len(activity)
    rate = np.where(
        activity > 0.005,
        share * _PCIE_KIB_S * activity * (1 + _noise(rng, n, 0.25)),
        _noise(rng, n, rest_kib_s),
    )
    return np.cumsum(np.abs(rate / second).astype(np.int64))
