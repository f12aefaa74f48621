"""Raw rows of the runs at hand as pieces of time that do not overlap, each with its state: temp table ``piece``.

A row's span is clipped to the allocation and to the row before it, exactly as the hour rollup clips it, so that
footprints and hours add up to the same milliseconds.
"""

from typing import Final

from store.catalog import METRICS
from store.settings import StateSettings
from store.states import ROW_ORDER, UTILIZATION_SQL, parked_sql, state_sql

UTILIZATION_SCALE: Final = max(metric.per_unit for metric in METRICS if metric.is_utilization)
"""Stored utilization per percent in ``piece.util``."""


TRAFFIC: Final = ("pcie_rx_mib", "pcie_tx_mib", "nvlink_rx_mib", "nvlink_tx_mib")
"""What goes over the links: amounts of a row, shared by time where it is cut."""

# Work of the video engines: the GPU's kernels have no part in it.
_ENGINES: Final = "greatest({})".format(
    ", ".join(
        f"{metric.name}::INTEGER * {UTILIZATION_SCALE // metric.per_unit}"
        for metric in METRICS
        if metric.is_utilization and metric.name != "util_pct"
    )
)


def make_pieces(states: StateSettings, energy_limit_ratio: float) -> str:
    """Returns the statement that makes ``piece`` from the rows of the GPUs in temp table ``hold``.

    ``kind`` is 2 at >= 1 % (busy), 1 below (idle), 0 unknown; ``busy_ms`` is the part of a busy piece in which the
    driver's readings were at 1 % or more, all of it where the row does not say. ``since_ms``: from then on the run held
    the GPU without a pause.
    """
    low = round(states.low_pct * UTILIZATION_SCALE)
    return f"""
    CREATE OR REPLACE TEMP TABLE piece AS
    WITH clipped AS (
        SELECT samples.*, gpu.mem_total_mib, gpu.power_limit_w,
               coalesce(lag(ts_ms) OVER (PARTITION BY samples.run_key, samples.gpu_key
                                         ORDER BY {ROW_ORDER}),
                        ts_ms - span_ms) AS before_ms,
               greatest(ts_ms - span_ms, before_ms) AS begin_ms
        FROM samples JOIN hold ON hold.run_key = samples.run_key AND hold.gpu_key = samples.gpu_key
        JOIN gpu ON gpu.gpu_key = samples.gpu_key),
    -- Half a row may lie in a pause: what is left of it is one piece on each side.
    cut AS (
        SELECT clipped.*, greatest(begin_ms, lasting.start_ms) AS from_ms, least(ts_ms, lasting.end_ms) AS to_ms,
               lasting.start_ms AS since_ms
        FROM clipped JOIN lasting ON lasting.run_key = clipped.run_key AND lasting.gpu_key = clipped.gpu_key
             AND lasting.start_ms < ts_ms AND lasting.end_ms > begin_ms),
    judged AS (
        SELECT *, (to_ms - from_ms)::INTEGER AS ms, {state_sql(states)} AS state, {UTILIZATION_SQL} AS util,
               -- after a gap the row carries the energy of the gap too
               energy_j * 1000.0 / greatest(span_ms, ts_ms - before_ms) > power_limit_w * {energy_limit_ratio!r}::DOUBLE
                   AS energy_refused,
               coalesce({parked_sql(states)}, FALSE) AS half_full
        FROM cut WHERE to_ms > from_ms)
    SELECT run_key, gpu_key, node_key, from_ms, to_ms, since_ms, ms, state, util,
           CASE state WHEN 'active' THEN 2 WHEN 'low' THEN 2 WHEN 'unknown' THEN 0 ELSE 1 END::TINYINT AS kind,
           state = 'idle_held' AND half_full AS parked,
           CASE WHEN state NOT IN ('active', 'low') THEN 0
                WHEN util_below1_ratio IS NULL OR util_pct < {low:d} THEN ms
                ELSE ms * (1000 - util_below1_ratio::INTEGER)::BIGINT // 1000 END::INTEGER AS busy_ms,
           (util_watched_ms::BIGINT * ms // span_ms)::INTEGER AS watched_ms, util_readings,
           util_pct, {_ENGINES} AS engines,
           sm_active_pct, tensor_active_pct, dram_active_pct, mem_util_pct, mem_used_mib, power_w, processes,
           CASE WHEN coalesce(energy_refused, FALSE) THEN NULL
                ELSE energy_j::BIGINT * 1000 * ms // span_ms END AS energy_mj,
           event_reasons, {", ".join(map(_share, TRAFFIC))}
    FROM judged"""  # noqa: S608 - fragments of our own


def _share(metric: str) -> str:
    return f"{metric} * ms::DOUBLE / span_ms AS {metric}"
