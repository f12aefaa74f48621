"""The one source of GPU-hours: what each run held on each GPU in each hour, weighed by the GPU's share of a device.

Sums are taken over integers, so users, accounts, partitions, nodes, models and days add up to the same total in any
order; they become GPU-hours by one division at the end.
"""

from typing import Final

from analytics.model import HOUR_MS, MINUTE_MS, Filter, Viewer, Window
from analytics.queries.scope import ALWAYS, Condition, Params, fill, of_places, of_runs, visible

WHOLE: Final = 840
"""Weight of a whole GPU: divisible by 1 to 8, hence by the slices of every MIG-capable model (7, A30: 4)."""

UNITS_PER_GPU_H: Final = WHOLE * HOUR_MS
"""One GPU-hour in the integer unit of all sums: weight x milliseconds."""

ENERGY_PER_KWH: Final = 36_000_000_000
"""One kWh in the integer unit of energy sums, 0.1 mJ: the power integral is stored as 0.1 W x ms."""

WEIGHT: Final = f"CAST(coalesce(g.slices * {WHOLE} // g.slices_of, {WHOLE}) AS BIGINT)"

_HOURS: Final = f"""
    SELECT hour_ms AS at_ms, CAST({HOUR_MS} AS BIGINT) AS bucket_ms, * EXCLUDE (hour_ms) FROM gpu_hour
    WHERE hour_ms >= $from_hour AND hour_ms < $to_hour"""  # noqa: S608 - a constant of this module

_MINUTES: Final = f"""
    SELECT minute_ms AS at_ms, CAST({MINUTE_MS} AS BIGINT) AS bucket_ms, * EXCLUDE (minute_ms) FROM gpu_minute
    WHERE minute_ms >= $from_minute AND minute_ms < $to_minute"""  # noqa: S608

_EDGES: Final = f"""
    SELECT minute_ms AS at_ms, CAST({MINUTE_MS} AS BIGINT) AS bucket_ms, * EXCLUDE (minute_ms) FROM gpu_minute
    WHERE minute_ms >= $from_minute AND minute_ms < $from_hour OR minute_ms >= $to_hour AND minute_ms < $to_minute
    """  # noqa: S608

# Time that nobody held has rows too, with no run: they belong to capacity.py. A GPU that only accounting counts has
# gpu_key 0 and no row in gpu: it weighs as a whole one, and its model and node are not known.
_PIECE: Final = """
    SELECT h.at_ms, h.run_key, h.gpu_key, {weight} AS weight,
        g.model AS model, n.name AS node, r.cluster AS cluster, r.user_name AS user, r.account AS account,
        r."partition" AS "partition",
        h.held_ms * weight AS held, h.active_ms * weight AS active, h.low_ms * weight AS low,
        h.idle_held_ms * weight AS idle_held, h.idle_ms * weight AS idle_empty,
        h.unknown_ms * weight AS unknown, h.unmeasurable_ms * weight AS unmeasurable, h.parked_ms * weight AS parked,
        h.util_pct_sum * weight AS util_sum, h.util_pct_ms * weight AS util_ms,
        h.sm_active_pct_sum * weight AS sm_sum, h.sm_active_pct_ms * weight AS sm_ms,
        h.mem_used_mib_max / g.mem_total_mib AS mem_ratio,
        h.power_w_sum AS power_sum, h.power_w_ms AS power_ms, g.power_limit_w AS power_limit_w,
        coalesce(h.energy_j_sum * 10000, h.power_w_sum) AS energy,
        h.energy_j_sum IS NULL AND h.power_w_sum IS NOT NULL AS energy_estimated
    FROM ({rollup}) AS h
    JOIN run r ON r.run_key = h.run_key
    LEFT JOIN gpu g ON g.gpu_key = h.gpu_key
    LEFT JOIN node n ON n.node_key = h.node_key
    WHERE {where}"""

_PICKED: Final = """
    SELECT piece.* FROM ({piece}) AS piece SEMI JOIN (
        SELECT run_key FROM ({piece}) GROUP BY run_key HAVING {having}) AS picked USING (run_key)"""

FIGURES: Final = """
    CAST(coalesce(sum(held), 0) AS BIGINT) AS held, CAST(coalesce(sum(active), 0) AS BIGINT) AS active,
    CAST(coalesce(sum(low), 0) AS BIGINT) AS low, CAST(coalesce(sum(idle_held), 0) AS BIGINT) AS idle_held,
    CAST(coalesce(sum(idle_empty), 0) AS BIGINT) AS idle_empty, CAST(coalesce(sum(unknown), 0) AS BIGINT) AS unknown,
    CAST(coalesce(sum(unmeasurable), 0) AS BIGINT) AS unmeasurable,
    CAST(coalesce(sum(parked), 0) AS BIGINT) AS parked,
    CAST(coalesce(sum(util_sum), 0) AS HUGEINT) AS util_sum, CAST(coalesce(sum(util_ms), 0) AS BIGINT) AS util_ms,
    CAST(sum(energy) AS HUGEINT) AS energy, coalesce(bool_or(energy_estimated), FALSE) AS energy_estimated,
    count(DISTINCT run_key) AS runs, count(DISTINCT "user") AS users,
    count(DISTINCT gpu_key) FILTER (gpu_key <> 0) AS gpus"""
"""Columns of :class:`analytics.queries.figures.Sums` over pieces."""

_SIZES: Final = {
    "min_gpu_h": f"sum(held) >= $min_gpu_h * {UNITS_PER_GPU_H}",
    "max_gpu_h": f"sum(held) < $max_gpu_h * {UNITS_PER_GPU_H}",
    "min_util_pct": "sum(util_sum) / sum(util_ms) / 10 >= $min_util_pct",
    "max_util_pct": "sum(util_sum) / sum(util_ms) / 10 < $max_util_pct",
}


def of_size(where: Filter) -> Condition:
    """Returns the condition on a group of one run's pieces: its GPU-hours and mean utilization within the window.

    Both ranges are half open, so that cells of a chart share no run; an upper end of 100 % includes 100.
    """
    condition = ALWAYS
    for name, sql in _SIZES.items():
        value = getattr(where, name)
        if value is not None and not (name == "max_util_pct" and value >= 100):
            condition &= Condition(sql, {name: float(value)})
    return condition


def rollup(window: Window, *, minutes: bool = False) -> Condition:
    """Returns a SELECT of the rollup rows of a window with their start ``at_ms`` and length ``bucket_ms``.

    Full hours come from the hour rollup. Where an end lies between full hours (zones at half hours, the period before
    one that is not over yet) the minute rollup completes it. An end between minutes is the moment that the data reaches
    to, so the hour it lies in holds nothing beyond it.
    """
    if minutes:
        return Condition(_MINUTES, {"from_minute": floor(window.start_ms, MINUTE_MS), "to_minute": window.end_ms})
    starts, ends = window.start_ms % HOUR_MS == 0, window.end_ms % HOUR_MS == 0 or window.end_ms % MINUTE_MS != 0
    hours: Params = {
        "from_hour": -floor(-window.start_ms, HOUR_MS),
        "to_hour": window.end_ms if ends else floor(window.end_ms, HOUR_MS),
    }
    if starts and ends:
        return Condition(_HOURS, hours)
    edges: Params = {"from_minute": floor(window.start_ms, MINUTE_MS), "to_minute": window.end_ms}
    return Condition(f"{_HOURS} UNION ALL {_EDGES}", hours | edges)


def floor(value_ms: int, step_ms: int) -> int:
    """Returns the last full step at or before a moment."""
    return value_ms // step_ms * step_ms


def pieces(
    viewer: Viewer, window: Window, where: Filter, *, minutes: bool = False, also: Condition = ALWAYS
) -> Condition:
    """Returns a SELECT of pieces, one per run, GPU and hour (or minute), and its parameters.

    ``also`` is a further condition on the rollup's row ``h`` or the run ``r``.

    Its columns at_ms, run_key, gpu_key, weight, model, node, cluster, user, account and partition say whose; held,
    active, low, idle_held, idle_empty, unknown, unmeasurable and parked are weight x ms, and held is the sum of the
    five states. util_sum and sm_sum are 0.1 % x weight x ms; power_sum is 0.1 W x ms, energy 0.1 mJ.
    """
    wanted = visible(viewer) & of_runs(where) & of_places(where) & also
    rows = rollup(window, minutes=minutes)
    params = rows.params | wanted.params
    piece = fill(_PIECE, rollup=rows.sql, weight=WEIGHT, where=wanted.sql)
    size = of_size(where)
    if size is ALWAYS:
        return Condition(piece, params)
    return Condition(fill(_PICKED, piece=piece, having=size.sql), params | size.params)
