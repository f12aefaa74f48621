"""One row per run over its pieces: GPU-hours, means and maxima in the window. Tables and charts of jobs share it."""

from typing import Final

from analytics.model import Filter, Viewer, Window
from analytics.queries.pieces import pieces
from analytics.queries.scope import ALWAYS, Condition, fill

_COLUMNS: Final = (
    *("run_key", "gpu_key", "model", "held", "active", "low", "idle_held", "idle_empty", "unknown", "unmeasurable"),
    *("util_sum", "util_ms", "sm_sum", "sm_ms", "mem_ratio", "power_sum", "power_ms", "power_limit_w"),
)

# A mean of ratios would weigh a short hour like a full one: power and its limit are summed over the same time.
_PER_RUN: Final = """
    SELECT run_key, CAST(sum(held) AS BIGINT) AS held, CAST(sum(active) AS BIGINT) AS active,
        CAST(sum(low) AS BIGINT) AS low, CAST(sum(idle_held + idle_empty) AS BIGINT) AS idle,
        CAST(sum(unknown) AS BIGINT) AS unknown, CAST(sum(unmeasurable) AS BIGINT) AS unmeasurable,
        sum(util_sum) / nullif(sum(util_ms), 0) / 10 AS util_mean_pct,
        sum(sm_sum) / nullif(sum(sm_ms), 0) / 10 AS sm_mean_pct,
        max(mem_ratio) AS mem_max_ratio,
        sum(power_sum) FILTER (power_limit_w > 0)
            / nullif(sum(CAST(10 * power_limit_w AS BIGINT) * power_ms), 0) AS power_mean_ratio,
        count(DISTINCT gpu_key) FILTER (gpu_key <> 0) AS seen_gpus, min(model) AS model
    FROM ({piece}) GROUP BY run_key HAVING sum(held) > 0"""


def per_run(viewer: Viewer, window: Window, where: Filter, also: Condition = ALWAYS) -> Condition:
    """Returns a SELECT with one row per run that held GPUs in the window, and its parameters.

    held, active, low, idle, unknown and unmeasurable are weight x ms; util_mean_pct, sm_mean_pct (0-100), mem_max_ratio
    and power_mean_ratio (0-1) are NULL where nothing was read. model is the first by name where a run holds several.
    """
    piece = pieces(viewer, window, where, _COLUMNS, also=also)
    return Condition(fill(_PER_RUN, piece=piece.sql), piece.params)
