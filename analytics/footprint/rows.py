"""The raw rows of a batch of holds, each with its hold and its state."""

from typing import Final

import pyarrow as pa

from analytics.footprint.holds import Holds
from store.catalog import METRICS
from store.columns import MAX_SPAN_MS
from store.database import Cursor
from store.samples import MAX_TIME_MS
from store.settings import StateSettings
from store.states import UTILIZATION_SQL, parked_sql, state_sql

UTILIZATION_SCALE: Final = max(metric.per_unit for metric in METRICS if metric.is_utilization)
"""Stored utilization per percent in column ``util``."""
TRAFFIC: Final = ("pcie_rx_mib", "pcie_tx_mib", "nvlink_rx_mib", "nvlink_tx_mib")
"""What goes over the links: amounts of a row, shared by time where it is cut."""
STATES: Final = ("unknown", "idle", "idle_held", "low", "active")
"""By code: busy from ``low`` on."""
UNKNOWN, IDLE, IDLE_HELD, LOW, ACTIVE = range(5)

_METRICS: Final = (
    "util_pct", "util_readings", "util_below1_ratio", "util_watched_ms", "mem_util_pct", "sm_active_pct",
    "tensor_active_pct", "dram_active_pct", "mem_used_mib", "power_w", "energy_j", "event_reasons", "processes",
    *TRAFFIC,
)  # fmt: skip
# Work of the video engines: the GPU's kernels have no part in it.
_ENGINES: Final = "greatest({})".format(
    ", ".join(
        f"{metric.name}::INTEGER * {UTILIZATION_SCALE // metric.per_unit}"
        for metric in METRICS
        if metric.is_utilization and metric.name != "util_pct"
    )
)


def read(cur: Cursor, holds: Holds, states: StateSettings) -> pa.Table:
    """Returns the raw rows of a batch of holds, with ``number``, ``state``, ``util`` and what the figures need.

    Call it where ``samples`` can be read.
    """
    asked = {
        "first": holds.first,
        "last": holds.first + len(holds) - 1,
        "first_node": int(holds.node_key.min(initial=2**31 - 1)),
        "last_node": int(holds.node_key.max(initial=0)),
        "from_ms": int(holds.start_ms.min(initial=MAX_TIME_MS)) - MAX_SPAN_MS,
        "to_ms": int(holds.end_ms.max(initial=0)) + MAX_SPAN_MS,
    }
    return cur.arrow(_rows_sql(states), asked)


def _rows_sql(states: StateSettings) -> str:
    codes = " ".join(f"WHEN '{name}' THEN {code}" for code, name in enumerate(STATES))
    return f"""
    SELECT number, ts_ms, span_ms, (CASE {state_sql(states)} {codes} END)::TINYINT AS state,
           {UTILIZATION_SQL} AS util, {_ENGINES} AS engines, coalesce({parked_sql(states)}, FALSE) AS half_full,
           {", ".join(_METRICS)}
    FROM samples JOIN (
        SELECT number, run_key, hold.gpu_key, hold.node_key, mem_total_mib
        FROM hold JOIN gpu ON gpu.gpu_key = hold.gpu_key
        WHERE number BETWEEN $first AND $last) AS held USING (run_key, gpu_key, node_key)
    WHERE node_key BETWEEN $first_node AND $last_node AND ts_ms > $from_ms AND ts_ms <= $to_ms"""  # noqa: S608
