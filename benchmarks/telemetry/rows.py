"""Readings as rows, in the catalogue's units or finer."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.telemetry.plan import Plan
from benchmarks.telemetry.signals import Signals, signals
from store.catalog import BY_NAME
from store.columns import ARROW_TYPE

MISSED: Final = 0.0005
"""Share of readings that no row holds."""
MOST_INTERVALS: Final = 2.5
"""A row stands for at most so many intervals, however many readings were missed before it."""

_Array = npt.NDArray[Any]
_Value = Callable[[Signals], _Array]


def _scaled(name: str, value: _Value) -> _Value:
    return lambda found: np.round(value(found) * BY_NAME[name].per_unit)


def _millionths(ratio: npt.NDArray[np.float32]) -> _Array:
    return np.round(1e6 * ratio.astype(np.float64))


# A counter is divided before it is subtracted, so that nothing is lost however often it is read.
CATALOGUE: Final[Mapping[str, _Value]] = {
    "util_pct": _scaled("util_pct", lambda found: found.util_pct),
    "mem_util_pct": lambda found: found.mem_util_pct,
    "sm_active_pct": _scaled("sm_active_pct", lambda found: 100 * found.sm_active),
    "sm_occupancy_pct": _scaled("sm_occupancy_pct", lambda found: 100 * found.sm_occupancy),
    "tensor_active_pct": _scaled("tensor_active_pct", lambda found: 100 * found.tensor_active),
    "dram_active_pct": _scaled("dram_active_pct", lambda found: 100 * found.dram_active),
    "mem_used_mib": lambda found: found.mem_used_mib,
    "power_w": _scaled("power_w", lambda found: found.power_mw / 1000),
    "energy_j": lambda found: found.energy_mj // 1000,
    "sm_clock_mhz": lambda found: found.sm_clock_mhz,
    "temp_c": lambda found: found.temp_c,
    "event_reasons": lambda found: found.event_reasons,
    "pcie_rx_mib": lambda found: found.pcie_rx_kib // 1024,
    "pcie_tx_mib": lambda found: found.pcie_tx_kib // 1024,
}
"""The fourteen metrics in the catalogue's units: 0.1 W, J, 0.1 %, MiB."""

EXACT: Final[Mapping[str, _Value]] = {
    **{name: CATALOGUE[name] for name in ("util_pct", "mem_util_pct")},
    "sm_active_ppm": lambda found: _millionths(found.sm_active),
    "sm_occupancy_ppm": lambda found: _millionths(found.sm_occupancy),
    "tensor_active_ppm": lambda found: _millionths(found.tensor_active),
    "dram_active_ppm": lambda found: _millionths(found.dram_active),
    "mem_used_mib": CATALOGUE["mem_used_mib"],
    "power_mw": lambda found: found.power_mw,
    "energy_mj": lambda found: found.energy_mj,
    **{name: CATALOGUE[name] for name in ("sm_clock_mhz", "temp_c", "event_reasons")},
    "pcie_rx_kib": lambda found: found.pcie_rx_kib,
    "pcie_tx_kib": lambda found: found.pcie_tx_kib,
}
"""The same readings as finely as the driver gives them: mW, mJ, six decimals of a ratio, KiB."""

_COUNTERS: Final = frozenset({"energy_j", "energy_mj", "pcie_rx_mib", "pcie_tx_mib", "pcie_rx_kib", "pcie_tx_kib"})


def rows(plan: Plan, node: int, metrics: Mapping[str, _Value] = CATALOGUE) -> pa.Table:
    """Return all rows of a node, sorted by GPU and time; about 0.4 us of CPU a row.

    Args:
        plan: the fleet and its runs.
        node: from 0.
        metrics: CATALOGUE or EXACT. Same readings, same rows.

    Returns:
        ts_ms (end of the row), span_ms, node, gpu (within the node), run (position in plan.runs, NULL: none) and the
        metrics, as integers without NULL.
    """
    jitter_ms = np.random.default_rng([plan.fleet.seed, node]).integers(
        0, plan.fleet.jitter_ms, plan.fleet.readings, endpoint=True
    )
    held = plan.held(node)
    return pa.concat_tables([_rows(plan, node, gpu, held[gpu], jitter_ms, metrics) for gpu in range(plan.fleet.gpus)])


def _rows(
    plan: Plan,
    node: int,
    gpu: int,
    held: list[tuple[int, int, int]],
    jitter_ms: npt.NDArray[np.int64],
    metrics: Mapping[str, _Value],
) -> pa.Table:
    fleet = plan.fleet
    found = signals(plan, node, gpu, held)
    kept = np.flatnonzero(np.random.default_rng([fleet.seed, node, gpu, 2]).random(fleet.readings) >= MISSED)
    ts_ms = (fleet.from_ms + fleet.interval_ms * np.arange(1, fleet.readings + 1) + jitter_ms)[kept]
    span_ms = np.diff(ts_ms, prepend=fleet.from_ms).clip(max=round(MOST_INTERVALS * fleet.interval_ms))
    run = found.run[kept]
    table = {
        "ts_ms": pa.array(ts_ms),
        "span_ms": pa.array(span_ms.astype(np.uint32)),
        "node": pa.array(np.full(len(kept), node, np.int32)),
        "gpu": pa.array(np.full(len(kept), gpu, np.int32)),
        "run": pa.array(run.astype(np.int32), mask=run < 0),
    }
    for name, value in metrics.items():
        values = value(found)[kept]
        if name in _COUNTERS:
            values = np.diff(values, prepend=0)
        kind = ARROW_TYPE[BY_NAME[name].dtype] if name in BY_NAME else pa.uint32()
        table[name] = pa.array(values.astype(kind.to_pandas_dtype()))
    return pa.table(table)
