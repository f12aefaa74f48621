"""The GPUs of one run: what each was, and what it did over the run's life."""

from typing import Final

import msgspec

from analytics.model import HOUR_MS
from analytics.queries.rollup import floor
from store.database import Cursor


class GpuUse(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU of a run over its life. ``gpu`` is ``node:index``, or ``not placed 1`` where only accounting counts it.

    Times in states come from the hour rollup; percentiles and idle stretches from the footprint, hence None until there
    is one.
    """

    gpu_key: int
    gpu: str
    uuid: str | None
    node: str | None
    model: str | None
    source: str
    start_ms: int
    end_ms: int | None
    held_ms: int
    active_ms: int
    low_ms: int
    idle_held_ms: int
    idle_ms: int
    unknown_ms: int
    coverage: float | None
    util_mean_pct: float | None
    util_p95_pct: float | None
    util_max_pct: float | None
    sm_mean_pct: float | None
    mem_max_mib: float | None
    mem_total_mib: int | None
    power_mean_w: float | None
    power_limit_w: float | None
    energy_kwh: float | None
    energy_estimated: bool | None
    leading_idle_ms: int | None
    trailing_idle_ms: int | None
    longest_idle_ms: int | None
    throttled_ms: int | None
    heat_ms: int | None
    power_brake_ms: int | None
    hardware_ms: int | None
    power_cap_ms: int | None


_GPUS: Final = """
    WITH hours AS (
        SELECT gpu_key, CAST(sum(held_ms) AS BIGINT) AS held_ms, CAST(sum(active_ms) AS BIGINT) AS active_ms,
            CAST(sum(low_ms) AS BIGINT) AS low_ms, CAST(sum(idle_held_ms) AS BIGINT) AS idle_held_ms,
            CAST(sum(idle_ms) AS BIGINT) AS idle_ms, CAST(sum(unknown_ms) AS BIGINT) AS unknown_ms,
            CAST(sum(unmeasurable_ms) AS BIGINT) AS unmeasurable_ms,
            sum(util_pct_sum) / nullif(sum(util_pct_ms), 0) / 10 AS util_mean_pct,
            sum(sm_active_pct_sum) / nullif(sum(sm_active_pct_ms), 0) / 10 AS sm_mean_pct,
            max(mem_used_mib_max) AS mem_max_mib, sum(power_w_sum) / nullif(sum(power_w_ms), 0) / 10 AS power_mean_w
        FROM gpu_hour WHERE run_key = $run AND hour_ms >= $start AND hour_ms <= $end GROUP BY gpu_key)
    SELECT a.gpu_key, n.name || ':' || coalesce(CAST(g.idx AS VARCHAR), '?') AS gpu, g.uuid, n.name AS node, g.model,
        a.source, a.start_ms, a.end_ms, coalesce(h.held_ms, 0) AS held_ms, coalesce(h.active_ms, 0) AS active_ms,
        coalesce(h.low_ms, 0) AS low_ms, coalesce(h.idle_held_ms, 0) AS idle_held_ms,
        coalesce(h.idle_ms, 0) AS idle_ms, coalesce(h.unknown_ms, 0) AS unknown_ms,
        (h.held_ms - h.unknown_ms) / nullif(h.held_ms - h.unmeasurable_ms, 0) AS coverage,
        h.util_mean_pct, f.util_p95_pct, f.util_max_pct, h.sm_mean_pct, CAST(h.mem_max_mib AS DOUBLE) AS mem_max_mib,
        g.mem_total_mib, h.power_mean_w, g.power_limit_w, f.energy_j / 3600000 AS energy_kwh, f.energy_estimated,
        f.leading_idle_ms, f.trailing_idle_ms, f.longest_idle_ms, f.throttled_ms,
        f.heat_ms, f.power_brake_ms, f.hardware_ms, f.power_cap_ms
    FROM allocation a LEFT JOIN hours h ON h.gpu_key = a.gpu_key LEFT JOIN gpu g ON g.gpu_key = a.gpu_key
        LEFT JOIN node n ON n.node_key = a.node_key
        LEFT JOIN footprint_gpu f ON f.run_key = a.run_key AND f.gpu_key = a.gpu_key
    WHERE a.run_key = $run ORDER BY n.name, g.idx, a.gpu_key"""

_UNPLACED: Final = """
    SELECT coalesce(CAST(sum(held_ms) AS BIGINT), 0) FROM gpu_hour
    WHERE run_key = $run AND gpu_key = 0 AND hour_ms >= $start AND hour_ms <= $end"""


def gpus_of_run(
    cur: Cursor, run_key: int, start_ms: int, end_ms: int | None, data_to_ms: int, allocated: int | None
) -> list[GpuUse]:
    """Returns the GPUs of a run by node and index, then those of its ``allocated`` GPUs that no node has shown."""
    span = {"run": run_key, "start": floor(start_ms, HOUR_MS), "end": end_ms or data_to_ms}
    placed = cur.rows(_GPUS, span, GpuUse)
    missing = max(0, (allocated or 0) - len(placed))
    if not missing:
        return placed
    held_ms = cur.scalar(_UNPLACED, span) // missing
    return placed + [_unplaced(number, start_ms, end_ms, held_ms) for number in range(1, missing + 1)]


def _unplaced(number: int, start_ms: int, end_ms: int | None, held_ms: int) -> GpuUse:
    unknown = dict.fromkeys(
        (
            *("uuid", "node", "model", "util_mean_pct", "util_p95_pct", "util_max_pct", "sm_mean_pct", "mem_max_mib"),
            *("mem_total_mib", "power_mean_w", "power_limit_w", "energy_kwh", "energy_estimated", "leading_idle_ms"),
            *("trailing_idle_ms", "longest_idle_ms", "throttled_ms", "heat_ms", "power_brake_ms", "hardware_ms"),
            "power_cap_ms",
        )
    )
    return GpuUse(
        gpu_key=0,
        gpu=f"not placed {number}",
        source="accounting",
        start_ms=start_ms,
        end_ms=end_ms,
        held_ms=held_ms,
        active_ms=0,
        low_ms=0,
        idle_held_ms=0,
        idle_ms=0,
        unknown_ms=held_ms,
        coverage=0.0,
        **unknown,
    )
